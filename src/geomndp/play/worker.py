"""One thread that computes: of every page the newest request wins, refinement waits its turn.

JAX is called from this thread alone. A request that waits is replaced by a later one of the same
page. When nothing waits, first answers are refined; when that is done, programs are compiled that
requests to come will need. A request ends a refinement between two stretches of steps, and after
some patience a first answer of its own page, as does a page that is gone.
"""

from __future__ import annotations

import atexit
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable
from typing import Any, NamedTuple

from geomndp.play.requests import Request

REST_SECONDS = 0.25
"""Time without a request after which answers are refined: a person who drags sends more."""
PATIENCE_SECONDS = 5.0
"""Time after which a first answer ends for a newer request of its page."""
MAX_CALLS = 16
"""Most files that wait to be written or read."""
SendMessage = Callable[[dict[str, Any]], None]


class Superseded(Exception):
    """A newer request waits."""


class Ask(NamedTuple):
    """A request for a picture: its page's number for it, and which of its answers comes next."""

    number: int
    request: Any
    send: SendMessage
    stage: int = 0


class Worker:
    """Computes the answers of one session for any number of pages.

    Args:
        session: Its `stages`, `answer` and `warm_up` are called in the thread.
        on_error: (error) -> the sentence that a page shows.
        warm: Whether to compile ahead of requests.
    """

    def __init__(self, session: Any, on_error: Callable[[Exception], str], warm: bool = True):
        """Start the thread."""
        self.session, self.on_error = session, on_error
        self._asks: OrderedDict[Hashable, Ask] = OrderedDict()
        self._refinements: OrderedDict[Hashable, Ask] = OrderedDict()
        self._calls: deque[Callable[[], None]] = deque()
        self._warm_up: deque[tuple[Request, int]] = deque()
        if warm:
            requests = session.warm_up()
            stages = range(max(len(session.stages(each)) for each in requests))
            self._warm_up.extend((each, stage) for stage in stages for each in requests)
        self._changed, self._closed, self._last = threading.Condition(), False, 0.0
        self._answered: Hashable = None  # page whose answer is computed, until it is gone
        self._thread = threading.Thread(target=self._run, name="playground", daemon=True)
        self._thread.start()
        atexit.register(self.close)  # a thread that compiles must not outlive the interpreter

    def ask(self, page: Hashable, ask: Ask) -> None:
        """Compute a picture, in the place of what else the page waits for."""
        with self._changed:
            self._asks[page] = ask
            self._refinements.pop(page, None)
            self._last = time.monotonic()
            self._changed.notify()

    def call(self, job: Callable[[], None]) -> None:
        """Run something else in the thread, as soon as it is free; ValueError if much waits."""
        with self._changed:
            if len(self._calls) >= MAX_CALLS:
                raise ValueError(f"expected at most {MAX_CALLS} files at once, got more")
            self._calls.append(job)
            self._changed.notify()

    def forget(self, page: Hashable) -> None:
        """Drop what a page that is gone has asked for."""
        with self._changed:
            self._asks.pop(page, None)
            self._refinements.pop(page, None)
            if self._answered is page:
                self._answered = None

    def close(self) -> None:
        """End the thread after what it computes."""
        with self._changed:
            self._closed = True
            self._changed.notify()
        self._thread.join()
        atexit.unregister(self.close)

    @property
    def warm(self) -> bool:
        """Whether the programs of usual requests are compiled."""
        return not self._warm_up

    def _run(self) -> None:
        while (job := self._next()) is not None:
            job()

    def _next(self) -> Callable[[], None] | None:
        """What to do now; waits until there is something."""
        with self._changed:
            while True:
                if self._closed:
                    return None
                if self._calls:
                    return self._calls.popleft()
                if self._asks:
                    page, ask = self._asks.popitem(last=False)
                    return lambda: self._answer(page, ask)
                rest = self._last + REST_SECONDS - time.monotonic()
                if rest <= 0 and self._refinements:
                    page, ask = self._refinements.popitem(last=False)
                    return lambda: self._answer(page, ask)
                if rest <= 0 and self._warm_up:
                    return self._warm
                self._changed.wait(rest if rest > 0 else None)

    def _answer(self, page: Hashable, ask: Ask) -> None:
        """Send one picture; the next stage of the same request waits until nothing else does."""
        begun, self._answered = time.monotonic(), page

        def give_up(done: float | int) -> None:
            impatient = time.monotonic() - begun > PATIENCE_SECONDS and page in self._asks
            if self._closed or self._answered is not page or impatient:
                raise Superseded
            if ask.stage:
                self._give_way(done)

        try:
            stages = self.session.stages(ask.request)
            ask.send({"type": "computing", "number": ask.number, "stage": ask.stage})
            picture = self.session.answer(ask.request, stages[ask.stage], give_up)
            last = ask.stage + 1 == len(stages)
            answer = {"type": "picture", "number": ask.number, "refined": last, "picture": picture}
            ask.send({**answer, "seconds": time.monotonic() - begun})
        except Superseded:
            self._refine(page, ask)
        except Exception as error:  # of sending too: numbers that JSON cannot hold
            ask.send({"type": "error", "number": ask.number, "sentence": self.on_error(error)})
        else:
            if not last:
                self._refine(page, ask._replace(stage=ask.stage + 1))

    def _refine(self, page: Hashable, ask: Ask) -> None:
        """Let the rest of a request wait, unless there is a newer one or the page is gone."""
        with self._changed:
            if page not in self._asks and self._answered is page:
                self._refinements[page] = ask

    def _warm(self) -> None:
        request, stage = self._warm_up[0]
        try:
            stages = self.session.stages(request)
            if stage < len(stages):
                self.session.answer(request, stages[stage], self._give_way)
        except Superseded:  # compiled it is, though not run to its end
            pass
        except Exception:
            pass  # whoever asks for the same is shown the reason
        self._warm_up.popleft()

    def _give_way(self, done: float | int) -> None:
        if self._asks or self._calls or self._closed:
            raise Superseded
