"""The local server of the playground: one page, one module, one socket; nothing leaves the machine.

Everything lies below a random token, `http://127.0.0.1:PORT/TOKEN/`. Without it there is `/` alone,
a page without content that leads a browser which has seen the token back to it: links to a state
then need no token.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import secrets
import socket
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from geomndp.play.front_end import module, read_static, style
from geomndp.play.guard import Guard
from geomndp.play.protocol import MAX_MESSAGE, Page, sentence
from geomndp.play.session import Session
from geomndp.play.worker import Worker

HOST = "127.0.0.1"
MAX_PAGES = 32
"""Most pages at once."""


def application(session: Session, token: str, port: int, *, warm: bool = True) -> Any:
    """Make the ASGI application of a session.

    Args:
        session: The model.
        token: Secret part of the address.
        port: Port of the server, which requests must name.
        warm: Whether to compile ahead of requests.

    Returns:
        The application, which checks every request before anything else.
    """
    worker, pages = Worker(session, sentence, warm), set()

    async def connect(socket: WebSocket) -> None:
        if len(pages) >= MAX_PAGES:
            await socket.close(code=1013)
            return
        await socket.accept()
        pages.add(socket)
        try:
            await _serve_page(socket, session, worker)
        finally:
            pages.discard(socket)

    @contextlib.asynccontextmanager
    async def lifespan(_: Starlette):
        yield
        await asyncio.to_thread(worker.close)

    routes = [
        Route("/", _text(read_static("gate.html"), "text/html")),
        Route("/gate.js", _text(read_static("gate.js"), "text/javascript")),
        Route("/{token}/", _text(read_static("index.html"), "text/html")),
        Route("/{token}/page.js", _text(read_static("page.js"), "text/javascript")),
        Route("/{token}/playground.js", _text(module(), "text/javascript")),
        Route("/{token}/style.css", _text(style(), "text/css")),
        WebSocketRoute("/{token}/socket", connect),
    ]
    return Guard(Starlette(routes=routes, lifespan=lifespan), token, port)


def _text(content: str, media: str) -> Callable[..., Awaitable[Response]]:
    async def respond(request: Any) -> Response:
        return Response(content, media_type=media)

    return respond


async def _serve_page(socket: WebSocket, session: Session, worker: Worker) -> None:
    """Pass messages between a socket and the worker's thread until the page is gone."""
    loop, outgoing = asyncio.get_running_loop(), asyncio.Queue()

    def send(message: dict[str, Any]) -> None:
        text = json.dumps(message, allow_nan=False)
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(outgoing.put_nowait, text)

    async def write() -> None:
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            while True:
                await socket.send_text(await outgoing.get())

    page, writer = Page(session, worker, send), asyncio.create_task(write())
    try:
        while True:
            page.receive(await socket.receive_text())
    except (WebSocketDisconnect, KeyError):  # gone, or binary data
        pass
    finally:
        page.close()
        writer.cancel()


class Server:
    """A server that is bound, but does not run yet.

    Args:
        session: The model.
        port: Port on this machine, 0 for any that is free.
        warm: Whether to compile ahead of requests.

    Raises:
        ValueError: If the port is taken, or none.
    """

    def __init__(self, session: Session, port: int = 0, *, warm: bool = True):
        """Bind to the machine itself alone."""
        if type(port) is not int or not 0 <= port <= 65535:
            raise ValueError(f"expected a port from 0 to 65535, got {port!r}")
        self.token, self._socket = secrets.token_urlsafe(32), socket.socket()
        if os.name == "posix":  # else a port is taken for a minute after use
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            self._socket.bind((HOST, port))
            self._socket.listen()  # pages that come before `run` wait
        except OSError as error:
            self._socket.close()
            raise ValueError(f"expected a port that is free, got {port}: {error}") from error
        self.port = self._socket.getsockname()[1]
        self.address = f"http://{HOST}:{self.port}/{self.token}/"
        config = uvicorn.Config(
            application(session, self.token, self.port, warm=warm),
            log_level="error",
            access_log=False,
            ws="websockets-sansio",
            ws_max_size=MAX_MESSAGE,
            server_header=False,
            date_header=False,
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)

    def run(self) -> None:
        """Serve until the process is interrupted, or `stop` is called."""
        self._server.run(sockets=[self._socket])

    def stop(self) -> None:
        """End `run`, from another thread."""
        self._server.should_exit = True
