"""Public calls of neural processes, fields on the sphere, patches, and many tasks at once."""

from __future__ import annotations

from functools import cache
from random import Random
from typing import Any

import jax.random as jr
import numpy as np
import pandas as pd

import geomndp as gn
from fuzz.calls import Attempt, judge_files
from fuzz.judge import judge_call
from fuzz.twists import Twister
from fuzz.values import NOTHINGS, NUMBERS, TEXTS, odd_array, odd_count, odd_key, odd_noise
from fuzz.world import Known, World
from geomndp.baselines.neural_processes.conv_cnp import ConvCNP
from geomndp.geometry.geodesy import to_unit

LAT, LON = np.array([10.0, 80.0, -45.0]), np.array([178.0, 0.0, -120.0])
UV = np.array([[1.0, 0.5], [0.5, 0.25], [0.5, -0.25]])
ASKS = ("sample", "log_prob", "mean_and_std", "quantile", "condition")


@cache
def _neural() -> Known:
    grid = {"extent": 4.0, "points_per_unit": 4.0, "num_layers": 1, "width": 2, "margin": 0.5}
    process = ConvCNP(1, 1, **grid, dtype="float32", key=jr.key(0))
    x = np.array([[0.0], [0.3], [0.6]])
    return Known(gn.ProcessModel(process), x, np.array([[0.5], [1.0], [0.2]]), x[:2] + 0.1)


@cache
def _globe() -> Known:
    sizes = {"channels": 1, "width": 2, "num_layers": 1, "radius": 0.5, "max_neighbours": 4}
    net = gn.nets.SteerableSphere(("vector",), **sizes, key=jr.key(0))
    kernel = gn.kernels.Diagonal(gn.kernels.White(), 2)
    noising = gn.noising.OrnsteinUhlenbeck(kernel, gn.noising.LinearSchedule(0.0, 10.0))
    model = gn.Model(noising, gn.score.NetworkScore(net, conditional=True))
    model = model.with_variables(("lat", "lon"), ("u", "v"), domain="sphere")
    x = np.asarray(to_unit(LAT, LON), float)
    return Known(model, x, UV, np.asarray(to_unit(LAT[:2] + 5, LON[:2]), float))


def neural(twist: Twister, world: World) -> Attempt:
    """Laws of a neural process."""
    known = _neural()
    given = {
        "x": twist("x", known.x, lambda r: odd_array(r, known.x)),
        "y": twist("y", known.y, lambda r: odd_array(r, known.y)),
        "noise": twist("noise", 0.0, lambda r: odd_noise(r, 3)),
    }
    x = twist("targets", known.targets, lambda r: odd_array(r, known.targets))
    y = twist("values", known.y[:2], lambda r: odd_array(r, known.y[:2]))
    key, count = twist("key", jr.key(3), odd_key), twist("num_samples", 2, odd_count)
    level = twist("level", 0.5, lambda r: r.choice((*NUMBERS, *NOTHINGS, [0.1, 2.0], [0.1, 0.9])))
    ask = twist.pick("ask", ASKS)

    def call() -> Any:
        posterior = known.model.condition(**given)
        calls = {
            "sample": lambda: posterior.sample(x, key=key, num_samples=count),
            "log_prob": lambda: posterior.log_prob(x, y),
            "mean_and_std": lambda: posterior.mean_and_std(x),
            "quantile": lambda: posterior.quantile(level, x),
            "condition": lambda: None,
        }
        return calls[ask]()

    return {"ask": ask, **given, "x*": x, "y*": y, "key": key}, lambda: judge_call(call)


def globe(twist: Twister, world: World) -> Attempt:
    """Fields on the sphere, read as unit vectors or as latitudes and longitudes in a table."""
    known, table = _globe(), twist.pick("table", [True, True, False])
    if table:
        frame = pd.DataFrame({"lat": LAT, "lon": LON, "u": UV[:, 0], "v": UV[:, 1]})
        given = {"x": twist("table-cells", frame, lambda r: _odd_table(r, frame.copy()))}
        targets = pd.DataFrame({"lat": LAT[:2] + 5, "lon": LON[:2]})
        x = twist("targets", targets, lambda r: _odd_table(r, targets.copy()))
    else:
        given = {
            "x": twist("x", known.x, lambda r: odd_array(r, known.x)),
            "y": twist("y", known.y, lambda r: odd_array(r, known.y)),
        }
        x = twist("targets", known.targets, lambda r: odd_array(r, known.targets))
    given["noise"] = twist("noise", 0.0, lambda r: odd_noise(r, 3))
    drawn = twist.pick("drawn", [True, *[False] * 9])  # most of the cost is compilation

    def call() -> Any:
        posterior = known.model.condition(**given)
        if not drawn:
            return posterior.observations.x, posterior.observations.y
        return posterior.sample(x, key=jr.key(0), num_samples=1, sampler=world.sampler)

    return {**given, "targets": x, "drawn": drawn}, lambda: judge_call(call)


def patches(twist: Twister, world: World) -> Attempt:
    """Large fields by patches, in memory or into a store."""
    known = world.known["winds"]
    lengths = (*NUMBERS, *NOTHINGS, *TEXTS[:3], (1.0, 2.0), [3.0], (1.0, -1.0), 1e-3)
    scheme = {
        name: twist(name, good, lambda r: r.choice(lengths))
        for name, good in (("width", 2.0), ("halo", 1.0), ("fine_halo", None))
    }
    scheme["max_points"] = twist("max_points", 16, odd_count)
    scheme["stride"] = twist("stride", 1, odd_count)
    grid = np.stack(np.meshgrid(np.arange(4.0), np.arange(3.0)), axis=-1).reshape(-1, 2)
    asked = {
        "x": twist("targets", grid, lambda r: odd_array(r, grid)),
        "key": twist("key", jr.key(3), odd_key),
        "num_samples": twist("num_samples", 1, odd_count),
    }
    out = twist("out", None, lambda r: r.choice((world.folder / "field.zarr", "", 3, world.folder)))
    drawn = twist.pick("drawn", [True, False, False])

    def call() -> Any:
        law = gn.patches.Patches(**scheme)
        if not drawn:
            return None
        options = {"patches": law, "sampler": world.sampler, "out": out}
        result = known.model.condition(known.x, known.y).sample(**asked, **options)
        return None if out is not None else result

    return {**scheme, **asked, "out": out}, lambda: judge_files(world, call)


def many(twist: Twister, world: World) -> Attempt:
    """Tasks of different sizes, one of which may be odd."""
    known = world.known["mast"]
    tasks: list[Any] = [(known.x[:n], known.y[:n], known.targets) for n in (1, 2, 3)]
    where = twist.pick("where", range(3))
    x, y, targets = tasks[where]
    task = (
        twist("x", x, lambda r: odd_array(r, x)),
        twist("y", y, lambda r: odd_array(r, y)),
        twist("targets", targets, lambda r: odd_array(r, targets)),
    )
    tasks[where] = twist(
        "task", task, lambda r: r.choice((*NOTHINGS, task[:2], task[0], (*task, 1)))
    )
    given = {
        "tasks": twist("tasks", tasks, lambda r: r.choice((*NOTHINGS, iter(tasks), tasks[0]))),
        "noise": twist("noise", 0.0, lambda r: odd_noise(r, 3)),
    }
    asked = {
        "key": twist("key", jr.key(3), odd_key),
        "num_samples": twist("num_samples", 2, odd_count),
        "sampler": world.sampler,
    }
    return given | asked, lambda: judge_call(
        lambda: [values for _, values in known.model.condition_many(**given).sample(**asked)]
    )


def _odd_table(random: Random, frame: pd.DataFrame) -> Any:
    """A table of which a cell, a column or a name is odd."""
    name = random.choice(list(frame.columns))
    what = random.randrange(5)
    if what == 0:
        frame[name] = frame[name].astype(object)
        frame.loc[random.randrange(len(frame)), name] = random.choice((*NUMBERS, *TEXTS, 91.0, 361))
    elif what == 1:
        frame = frame.drop(columns=name)
    elif what == 2:
        frame = frame.rename(columns={name: random.choice(TEXTS)})
    elif what == 3:
        frame[name] = random.choice((90.0, -90.0, 180.0, -180.0, 360.0, 1e-30, np.nan))
    else:
        frame = (
            frame.iloc[:0] if random.random() < 0.5 else pd.concat([frame, frame[[name]]], axis=1)
        )
    return frame
