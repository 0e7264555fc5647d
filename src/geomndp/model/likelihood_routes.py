"""Which way a posterior goes: whether its score knows contexts, and how a density is solved for."""

from __future__ import annotations

from typing import Any

from geomndp import _validation
from geomndp.likelihood import Exact, Flow, Hutchinson
from geomndp.samplers import Problem, check_amortised

ROUTES = ("conditional", "joint")


def amortises(problem: Problem) -> bool:
    """Whether one reverse pass, or one solve, with observations at time zero will do."""
    try:
        check_amortised(problem)
    except ValueError:
        return False
    return True


def chosen_route(problem: Problem, route: str | None) -> str:
    """The route that was asked for, refused where it cannot be gone; the cheaper one for None."""
    if route is None:
        route = "conditional" if amortises(problem) else "joint"
    _validation.one_of("route", route, ROUTES)
    if route == "conditional":
        check_amortised(problem)
    elif problem.observations.noisy:
        raise ValueError("expected observations without noise for route 'joint', got noise")
    return route


def chosen_flow(flow: Flow | None, key: Any) -> Flow:
    """The flow that was asked for, else one with probes if there is a key for them."""
    if flow is None:
        return Flow(divergence=Exact() if key is None else Hutchinson())
    if not isinstance(flow, Flow):
        raise ValueError(f"expected a flow such as Flow(steps=16), got {_validation.brief(flow)}")
    return flow
