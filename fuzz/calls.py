"""Public calls of models with odd arrays, noise, keys, counts and samplers."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import jax.random as jr
import numpy as np

import geomndp as gn
from fuzz.judge import REFUSED, Finding, judge_call
from fuzz.twists import Twister
from fuzz.values import NOTHINGS, odd_array, odd_count, odd_key, odd_noise
from fuzz.world import Known, World

Attempt = tuple[dict[str, Any], Callable[[], str]]
FLOW = gn.likelihood.Flow(steps=2)


def condition(twist: Twister, world: World) -> Attempt:
    """Observations."""
    known = _known(twist, world)
    given = _observations(twist, known)
    return given, lambda: judge_call(lambda: _numbers_of(known.model.condition(**given)))


def sample(twist: Twister, world: World) -> Attempt:
    """Samples of a posterior."""
    known = _known(twist, world)
    given = _observations(twist, known)
    asked = _request(twist, known, world)
    return given | asked, lambda: judge_call(lambda: known.model.condition(**given).sample(**asked))


def prior(twist: Twister, world: World) -> Attempt:
    """Samples of a model without observations."""
    known = _known(twist, world)
    asked = _request(twist, known, world)
    asked["origin"] = twist("origin", None, lambda r: r.choice(ORIGINS))
    return asked, lambda: judge_call(lambda: known.model.sample(**asked))


def log_prob(twist: Twister, world: World) -> Attempt:
    """Log-densities, joint and conditional."""
    known = _known(twist, world)
    joint = twist.pick("joint", [True, False])
    asked: dict[str, Any] = {
        "x": twist("x", known.x, lambda r: odd_array(r, known.x)),
        "y": twist("y", known.y, lambda r: odd_array(r, known.y)),
        "key": twist("key", None, odd_key),
        "mask": twist("mask", None, _odd_mask),
        "flow": twist("flow", FLOW, lambda r: r.choice([None, "flow", gn.likelihood.Flow, 3])),
    }
    if joint:
        return asked, lambda: judge_call(lambda: known.model.log_prob_info(**asked)[0])
    given = {
        "x": known.x + 0.5,
        "y": known.y,
        "noise": twist("noise", 0.0, lambda r: odd_noise(r, 3)),
    }
    asked["route"] = twist("route", None, lambda r: r.choice(["joint", "conditional", "both", 3]))
    return given | asked, lambda: judge_call(
        lambda: known.model.condition(**given).log_prob_info(**asked)[0]
    )


def parts(twist: Twister, world: World) -> Attempt:
    """Constructors, names and saving."""
    known = _known(twist, world)
    name = twist.pick("part", list(_PARTS))
    random = twist.random("odd")
    odd = [
        random.choice((*NOTHINGS, -1.0, "nan", np.zeros(2), 1e30, [1.0], ("a", "b"), 2))
        for _ in "ab"
    ]
    return {"part": name, "odd": odd}, lambda: judge_files(
        world, lambda: _PARTS[name](known, world, *odd)
    )


def judge_files(world: World, call: Callable[[], Any]) -> str:
    """Judge a call that may write files: none after a refusal."""
    try:
        found = judge_call(call)
        if found == REFUSED and world.new():
            raise Finding(f"refused, and files left: {world.new()}")
    finally:
        world.mend()
    return found


def _request(twist: Twister, known: Known, world: World) -> dict[str, Any]:
    """Arguments of `sample`."""
    return {
        "x": twist("targets", known.targets, lambda r: odd_array(r, known.targets)),
        "key": twist("key", jr.key(3), odd_key),
        "num_samples": twist("num_samples", 2, odd_count),
        "sampler": twist("sampler", world.sampler, _odd_sampler),
    }


def _known(twist: Twister, world: World) -> Known:
    return world.known[twist.pick("model", list(world.known))]


def _observations(twist: Twister, known: Known) -> dict[str, Any]:
    return {
        "x": twist("x", known.x, lambda r: odd_array(r, known.x)),
        "y": twist("y", known.y, lambda r: odd_array(r, known.y)),
        "noise": twist("noise", 0.0, lambda r: odd_noise(r, len(known.x))),
        "origin": twist("origin", None, lambda r: r.choice(ORIGINS)),
    }


ORIGINS = ("2024-01-01", "dawn", "", 3, np.datetime64("2024-01-01"), np.datetime64("NaT"), b"a", [])


def _numbers_of(posterior: Any) -> tuple:
    observed = posterior.observations
    return observed.x, observed.y, observed.noise


def _odd_sampler(random: Random) -> Any:
    samplers = gn.samplers
    if random.random() < 0.8:
        return random.choice(("Amortised", samplers.Amortised, 3, object(), lambda: None, {}, []))
    return random.choice(
        (
            None,
            samplers.Langevin(2, 1),
            samplers.RePaint(2, 1),
            samplers.Replacement(2),
            samplers.MomentMatching(2),
        )
    )


def _odd_mask(random: Random) -> Any:
    options = (
        [1, 1, 0],
        [True, False, True],
        np.ones(3),
        np.zeros(3),
        [0.5, 1, 1],
        [2, 1, 1],
        [-1, 0, 1],
    )
    others = (
        np.ones((3, 1)),
        np.ones(2),
        "mask",
        [np.nan, 1, 1],
        1,
        [],
        [[1]],
        np.array(["1"] * 3),
        {},
    )
    return random.choice((*options, *others))


_PARTS: dict[str, Callable[..., Any]] = {
    "named": lambda k, w, a, b: k.model.with_variables(a, b) and None,
    "units": lambda k, w, a, b: (
        k.model.with_variables("x", "y", units={a if isinstance(a, str) else "x": b}) and None
    ),
    "eps": lambda k, w, a, b: gn.Model(k.model.noising, k.model.score, a) and None,
    "model": lambda k, w, a, b: gn.Model(k.model.noising, k.model.score, normaliser=a) and None,
    "save": lambda k, w, a, b: k.model.save(a) and None,
    "notes": lambda k, w, a, b: k.model.save(w.folder / "odd", {"a": a, "b": b}),
    "load": lambda k, w, a, b: gn.load(a) and None,
    "normaliser": lambda k, w, a, b: gn.data.Normaliser(a, b) and None,
    "schedule": lambda k, w, a, b: gn.noising.LinearSchedule(a, b) and None,
    "kernel": lambda k, w, a, b: gn.kernels.SquaredExponential(a, b) and None,
    "period": lambda k, w, a, b: gn.kernels.Periodic(a, b) and None,
    "noise": lambda k, w, a, b: gn.gp.GP(gn.kernels.White(), noise=a) and None,
    "steps": lambda k, w, a, b: gn.samplers.Amortised(a) and None,
    "inner": lambda k, w, a, b: gn.samplers.Langevin(a, b) and None,
    "flow": lambda k, w, a, b: gn.likelihood.Flow(steps=a) and None,
    "net": lambda k, w, a, b: (
        gn.nets.RelativeAttention(1, 1, width=a, num_layers=b, key=jr.key(0)) and None
    ),
}
