"""What every request must have before it is looked at: host, origin and token.

The host is checked against names that lead elsewhere first and here later (DNS rebinding), the
origin against other pages in the same browser, the token, in constant time, against all others.
"""

from __future__ import annotations

import secrets
from typing import Any

from starlette.responses import PlainTextResponse

OPEN = ("/", "/gate.js")
"""Paths without a token: a page that has none to give away."""
NAMES = ("127.0.0.1", "localhost")


class Guard:
    """ASGI middleware that refuses what does not come from the page itself.

    Args:
        app: The application behind it.
        token: First part of every path, but for `OPEN`.
        port: Port of the server.
    """

    def __init__(self, app: Any, token: str, port: int):
        """Note what is expected, and the headers of every response."""
        self.app, self.token = app, token.encode()
        self.hosts = {f"{name}:{port}".encode() for name in NAMES}
        self.origins = {b"http://" + host for host in self.hosts}
        self.headers = response_headers(port)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Refuse a request, or pass it on."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif wrong := self.fault(scope):
            await _refuse(scope, receive, self._with_headers(send), wrong)
        else:
            await self.app(scope, receive, self._with_headers(send))

    def fault(self, scope: Any) -> str:
        """What is wrong with a request, nothing if it may pass.

        Args:
            scope: ASGI scope of a request or a socket.

        Returns:
            One sentence, or nothing.
        """
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        host, origin = headers.get(b"host", []), headers.get(b"origin", [])
        if len(host) != 1 or host[0].lower() not in self.hosts:
            return "expected a request to this machine, got another host"
        # Browsers state the origin of every socket; that of a plain visit they leave out.
        needed = scope["type"] == "websocket"
        if len(origin) > 1 or (needed and not origin) or not set(origin) <= self.origins:
            return "expected a request of the playground's own page, got another origin"
        parts = scope["path"].encode("utf-8", "surrogateescape").split(b"/")
        known = secrets.compare_digest(parts[1] if len(parts) > 1 else b"", self.token)
        if not known and scope["path"] not in OPEN:
            return "expected the token of this playground, got another; see `geomndp play`"
        return ""

    def _with_headers(self, send: Any) -> Any:
        async def wrapped(message: Any) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": [*message["headers"], *self.headers]}
            await send(message)

        return wrapped


def response_headers(port: int) -> list[tuple[bytes, bytes]]:
    """Headers of every response: only the page's own files, and no trace of the address."""
    sockets = " ".join(f"ws://{name}:{port}" for name in NAMES)
    policy = (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        f"connect-src 'self' {sockets}; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    headers = {
        "content-security-policy": policy,
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "cache-control": "no-store",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
    }
    return [(name.encode(), value.encode()) for name, value in headers.items()]


async def _refuse(scope: Any, receive: Any, send: Any, wrong: str) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 1008, "reason": wrong})
        return
    await PlainTextResponse(wrong, status_code=403)(scope, receive, send)
