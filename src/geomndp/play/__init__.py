"""The playground: a session that answers the states of a page, and the local server of that page.

`Session` needs no browser and no server; those load when they are used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from geomndp.play.opening import open_session as open_session
    from geomndp.play.server import Server as Server
    from geomndp.play.session import Session as Session

__all__ = ["Server", "Session", "open_session"]

_MODULES = {"Server": "server", "Session": "session", "open_session": "opening"}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
