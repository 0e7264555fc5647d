"""The playground as a widget: the module of the page, with messages of the notebook as its wire."""

from __future__ import annotations

import contextlib
import copy
import os
from typing import Any

import anywidget

from geomndp.model.base import AbstractModel
from geomndp.play import Session, open_session
from geomndp.play.front_end import module, style
from geomndp.play.protocol import Page, sentence
from geomndp.play.worker import Worker


class Playground(anywidget.AnyWidget):
    """A model at hand in a notebook: place observations, drag them, see the posterior move.

    Args:
        model: A model that names its inputs and outputs, or the name or path of a saved one.
        truth: The exact process of its functions, drawn beside the answers; that of a shipped
            model is known.
        start: State to begin with: any of `observations`, `samples`, `seed`, ...
        warm: Whether to compile ahead of what may be asked for.

    Raises:
        ValueError: If the model cannot be drawn, or the state does not fit it.

    Example:
        `gn.widgets.Playground("regression1d/se")`
    """

    _esm = module()
    _css = style()

    def __init__(
        self,
        model: AbstractModel | str | os.PathLike,
        *,
        truth: AbstractModel | None = None,
        start: dict[str, Any] | None = None,
        warm: bool = True,
    ):
        """Make the session; its thread computes."""
        super().__init__()
        if isinstance(model, (str, os.PathLike)):
            self._session = open_session(model, start)
            self._session.truth = self._session.truth if truth is None else truth
        else:
            self._session = Session(model, truth=truth, start=start)
        self._state: dict[str, Any] = dict(self._session.start)
        self._worker = Worker(self._session, sentence, warm)
        self._pages: dict[str, Page] = {}
        self.on_msg(self._receive)

    @property
    def shown(self) -> dict[str, Any]:
        """State that the page shows: observations, view, samples, seed, ..."""
        return copy.deepcopy(self._state)

    def observations(self) -> list[dict[str, Any]]:
        """Observations that the page shows: rows of x, y and std."""
        return self.shown.get("observations", [])

    def samples(self) -> Any:
        """Samples (s, n, p) of what the page shows, at its targets, by the best of its samplers."""
        request = self._session.read(self._state)
        return self._session.draw(request, self._session.stages(request)[-1])[1]

    def close(self) -> None:
        """End the widget and its thread."""
        self._worker.close()
        super().close()

    def _receive(self, _: Any, content: Any, buffers: Any) -> None:
        """Take {"page": name, "message": ...} of one view; its first message greets it."""
        if not isinstance(content, dict) or not isinstance(name := content.get("page"), str):
            return
        if name not in self._pages:
            self._pages[name] = Page(
                self._session, self._worker, lambda m: self.send({"page": name, "message": m})
            )
        message = content.get("message")
        if message is None:
            return
        if isinstance(message, dict) and message.get("type") == "ask":
            with contextlib.suppress(ValueError):  # the page is answered by a sentence
                self._session.read(message.get("state"))
                self._state = message["state"]
        self._pages[name].receive(message)
