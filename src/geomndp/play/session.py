"""A playground without a page: the state of a page in, picture data out."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from geomndp._warnings import collect_outside_training
from geomndp.model.base import AbstractModel
from geomndp.model.model import learnt_posteriors
from geomndp.play.conditioning import condition
from geomndp.play.pictures import exact_picture, picture_of, target_inputs
from geomndp.play.requests import AUTO, MAX_SAMPLES, Request, read_request
from geomndp.play.scene import EARTH, GLOBE, SAMPLES, scene_of
from geomndp.samplers import AbstractSampler, FlowMap, by_name

QUICK_STEPS = {GLOBE: 12}
DEFAULT_QUICK_STEPS = 5
"""Steps of a first answer, by the scene; a better one follows. With 5 steps tracks zigzag."""
FLOW_MAP = "flow-map"
OFFERED = (FLOW_MAP, "amortised", "flow")
"""Samplers that a page offers, where the model takes them, the best for a quick answer first.

Models that were never trained with contexts have moment matching instead.
"""


class Session:
    """A model at hand: answers the states of pages.

    Args:
        model: A model that names its inputs and outputs.
        name: What the page calls it.
        truth: The exact process of the model's functions, as a model of the same inputs and
            outputs, drawn beside the answers; None where it is unknown.
        start: State that a page begins with: any of `observations`, `samples`, `seed`, ...
        student: Student of the model, whose flow map is the default sampler; None without.

    Raises:
        ValueError: If the model cannot be drawn, or the state does not fit it.

    Example:
        `Session(gn.load("regression1d/se")).answer({"samples": 16})["mean"]`
    """

    def __init__(
        self,
        model: AbstractModel,
        name: str = "model",
        truth: AbstractModel | None = None,
        start: dict[str, Any] | None = None,
        student: AbstractModel | None = None,
    ):
        """See the class."""
        self.model, self.name, self.truth, self.student = model, name, truth, student
        self.scene = scene_of(model)
        self.start = {"samples": SAMPLES[self.scene.kind], **(start or {})}
        self.read(self.start)
        self.samplers = self._offered()

    def begin_with(self, observations: list[dict[str, Any]]) -> None:
        """Let pages begin with these observations.

        Args:
            observations: Rows of x, y and std, as the state of a page has them.
        """
        self.read(start := {**self.start, "observations": observations})
        self.start = start

    def describe(self) -> dict[str, Any]:
        """What a page has to know before it draws: scene, samplers, first state."""
        about = {
            "name": self.name,
            "samplers": list(self.samplers),
            "truth": self.truth is not None,
        }
        about |= {"max_samples": MAX_SAMPLES, "start": self.start}
        if self.scene.kind in (GLOBE, EARTH):
            from geomndp.plot.land import topology

            about["land"] = topology()
        return {**self.scene.describe(), **about}

    def read(self, state: Any) -> Request:
        """Check the state of a page; `ValueError` in one sentence where it is wrong.

        Args:
            state: Parsed JSON.

        Returns:
            The request.
        """
        return read_request(self.scene, state)

    def stages(self, request: Request) -> list[AbstractSampler | None]:
        """Samplers of the answers to a request, quick ones first; None where draws are exact.

        Args:
            request: What is asked for.

        Returns:
            One sampler per answer.

        Raises:
            ValueError: If the model does not take the sampler that is asked for.
        """
        if not self.samplers:
            if request.sampler != AUTO or request.steps is not None:
                raise ValueError("expected no sampler for a model that is drawn exactly, got one")
            return [None]
        if request.sampler not in (AUTO, *self.samplers):
            known = ", ".join((AUTO, *self.samplers))
            raise ValueError(f"expected a sampler of this model ({known}), got {request.sampler!r}")
        if request.sampler != AUTO:
            return [self._sampler(request.sampler, request.steps)]
        best = self._sampler(self.samplers[0], request.steps)
        if request.steps is not None or self.samplers[0] == FLOW_MAP:
            return [best]
        steps = QUICK_STEPS.get(self.scene.kind, DEFAULT_QUICK_STEPS)
        return [dataclasses.replace(best, steps=steps), best]

    def answer(
        self,
        state: Any,
        sampler: AbstractSampler | None = None,
        progress: Callable[[float], None] | bool = False,
    ) -> dict[str, Any]:
        """Compute one picture.

        Args:
            state: State of a page, or a request that was read from one.
            sampler: One of `stages`; the last of them by default.
            progress: Called with the number of samples drawn; what it raises ends the computation.

        Returns:
            Picture data, JSON-serialisable.

        Raises:
            ValueError: If the state does not fit the model.
            FloatingPointError: If values became NaN or infinite.
        """
        request = state if isinstance(state, Request) else self.read(state)
        sampler = self.stages(request)[-1] if sampler is None else sampler
        with collect_outside_training() as caught:
            x, y = self.draw(request, sampler, progress)
        picture = picture_of(self.scene, request, x, y)
        picture["sampler"] = None if sampler is None else type(sampler).__name__
        picture["steps"] = getattr(sampler, "steps", getattr(sampler, "calls", None))
        picture["warnings"] = sorted({" ".join(each.split()) for each in caught})
        picture["truth"] = self._exact(request, x) if request.truth else None
        return picture

    def draw(
        self, request: Request, sampler: AbstractSampler | None, progress: Any = False
    ) -> tuple[np.ndarray, Any]:
        """Targets (n, d) and samples (s, n, p): those of the library's call with the same seed."""
        x = target_inputs(self.scene, request)
        posterior = condition(self._model(isinstance(sampler, FlowMap)), self.scene, request)
        options: dict[str, Any] = {"key": request.seed, "num_samples": request.num_samples}
        if learnt_posteriors(posterior) and sampler is not None:
            options |= {"sampler": sampler, "progress": progress}
        return x, posterior.sample(self.scene.variables.to_inputs(x), **options)

    def warm_up(self) -> list[Request]:
        """Requests whose programs most others share: nothing observed, something, with noise."""
        middle = [sum(limits) / 2 for limits in self.scene.inputs]
        value = [sum(limits) / 2 for limits in self.scene.outputs]
        rows = [{"x": middle, "y": value, "std": std} for std in (0.0, 0.1)]
        truth = {"truth": self.truth is not None}
        base = {**self.start, **truth, "observations": []}
        return [self.read({**base, "observations": each}) for each in ([], rows[:1], rows[1:])]

    def _exact(self, request: Request, x: np.ndarray) -> dict[str, Any] | None:
        if self.truth is None:
            return None
        with collect_outside_training():  # of the exact process, which was not trained
            x = self.scene.variables.to_inputs(x)
            return exact_picture(condition(self.truth, self.scene, request).marginals(x))

    def _model(self, by_flow_map: bool) -> AbstractModel:
        """The model that answers: the student, if there is one, by its flow map."""
        return self.student if by_flow_map and self.student is not None else self.model

    def _offered(self) -> tuple[str, ...]:
        """Names of the samplers that the model takes, none where draws are exact."""
        request, taken = self.warm_up()[1], []
        for name in OFFERED:
            model = self._model(name == FLOW_MAP)
            learnt = learnt_posteriors(condition(model, self.scene, request))
            if not learnt:
                return ()
            if all(map(_taker(name), learnt)):
                taken.append(name)
        return tuple(taken or ["moment-matching"])

    def _sampler(self, name: str, steps: int | None) -> AbstractSampler:
        option = "calls" if name == FLOW_MAP else "steps"
        return by_name(name, **({} if steps is None else {option: steps}))


def _taker(name: str) -> Callable[[Any], bool]:
    """Whether a posterior can be drawn from by a sampler."""

    def takes(posterior: Any) -> bool:
        try:
            by_name(name).check(posterior.problem(posterior.observations.x))
        except ValueError:
            return False
        return True

    return takes
