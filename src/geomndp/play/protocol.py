"""Messages between a page and a session: JSON objects, numbered by the page.

| from the page | answer |
|---|---|
| `{"type": "ask", "number", "state"}` | `computing`, then one `picture` per stage, or `error` |
| `{"type": "export", "number", "state", "what", "ending"}` | `file` with its content in base64 |
| `{"type": "import", "number", "name", "content"}` | `observations` |

A connection begins with `hello`, which describes the session.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable
from typing import Any

from geomndp.play.exchange import export, import_observations
from geomndp.play.session import Session
from geomndp.play.worker import Ask, SendMessage, Worker

MAX_MESSAGE = 2_000_000
"""Most characters of a message of a page."""
MAX_SENTENCE = 400
EXPECTED = (ValueError, ArithmeticError, OSError, RuntimeError, MemoryError, ImportError)
PARTS = {
    "ask": {"state"},
    "export": {"state", "what", "ending"},
    "import": {"name", "content"},
}
"""Parts of a message by its type, beside its number."""


class Page:
    """One page, or one view of a widget.

    Args:
        session: The model.
        worker: Computes the answers.
        send: Called with every message to the page, from the worker's thread too.
    """

    def __init__(self, session: Session, worker: Worker, send: SendMessage):
        """Greet the page."""
        self.session, self.worker, self.send = session, worker, send
        self._types: dict[str, Callable[[int, dict[str, Any]], None]] = {
            "ask": self._ask,
            "export": self._export,
            "import": self._import,
        }
        send({"type": "hello", **session.describe()})

    def receive(self, text: str | bytes | dict[str, Any]) -> None:
        """Take a message; what is wrong with it is answered by one sentence.

        Args:
            text: JSON, or what was parsed from it.
        """
        number = None
        try:
            message = read_message(text)
            number = message["number"]
            self._types[message["type"]](number, message)
        except Exception as error:
            self.send({"type": "error", "number": number, "sentence": sentence(error)})

    def close(self) -> None:
        """Forget what the page has asked for."""
        self.worker.forget(self)

    def _ask(self, number: int, message: dict[str, Any]) -> None:
        request = self.session.read(message["state"])
        self.session.stages(request)  # refuses a sampler that the model does not take
        self.worker.ask(self, Ask(number, request, self.send))

    def _export(self, number: int, message: dict[str, Any]) -> None:
        request = self.session.read(message["state"])

        def write() -> dict[str, Any]:
            file = export(self.session, request, message["what"], message["ending"])
            content = base64.b64encode(file.content).decode("ascii")
            return {"type": "file", "name": file.name, "media": file.media, "content": content}

        self._call(number, write)

    def _import(self, number: int, message: dict[str, Any]) -> None:
        name, content = message["name"], _decoded(message["content"])
        if not isinstance(name, str):
            raise ValueError("expected the name of a file, got none")

        def read() -> dict[str, Any]:
            rows = import_observations(self.session.scene, name, content)
            return {"type": "observations", "observations": rows}

        self._call(number, read)

    def _call(self, number: int, make: Callable[[], dict[str, Any]]) -> None:
        """Let the worker make an answer, and send it."""

        def job() -> None:
            try:
                answer = make()
            except Exception as error:
                answer = {"type": "error", "sentence": sentence(error)}
            self.send({**answer, "number": number})

        self.worker.call(job)


def read_message(text: str | bytes | dict[str, Any]) -> dict[str, Any]:
    """Parse and check the outer form of a message.

    Args:
        text: JSON, or what was parsed from it.

    Returns:
        A message with a type, a number and the parts of its type.

    Raises:
        ValueError: If it is too long, no JSON, or of another form.
    """
    if isinstance(text, (str, bytes)):
        if len(text) > MAX_MESSAGE:
            raise ValueError(f"expected a message of at most {MAX_MESSAGE} characters, got more")
        try:
            message = json.loads(text, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise ValueError("expected a message in JSON, got something else") from None
    else:
        message = text
    if not isinstance(message, dict) or not isinstance(message.get("type"), str):
        raise ValueError("expected a message with a type, got none")
    if message["type"] not in PARTS:
        raise ValueError(f"expected a message of type {', '.join(PARTS)}, got another")
    if type(message.get("number")) is not int or not 0 <= message["number"] < 2**53:
        raise ValueError("expected the number of a message, got none")
    if set(message) != {"type", "number", *PARTS[message["type"]]}:
        listed = ", ".join(sorted(PARTS[message["type"]]))
        raise ValueError(f"expected {listed} in a message of type {message['type']}, got others")
    return message


def sentence(error: BaseException) -> str:
    """What went wrong, in one sentence for the page.

    Args:
        error: What was raised.

    Returns:
        Its message, cut short; of an error that nobody expected its type as well.
    """
    text = " ".join(str(error).split())[:MAX_SENTENCE] or type(error).__name__
    expected = isinstance(error, EXPECTED) and not isinstance(error, RecursionError)
    return text if expected else f"an unexpected {type(error).__name__}: {text}"


def _no_constant(name: str) -> Any:
    raise ValueError(f"expected numbers, got {name}")


def _decoded(content: Any) -> bytes:
    try:
        return base64.b64decode(content, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise ValueError("expected the content of a file in base64, got something else") from None
