"""Files of tables, logs and results, damaged."""

from __future__ import annotations

import json
from typing import Any

import geomndp as gn
from fuzz.bytes import damaged
from fuzz.calls import Attempt, _numbers_of
from fuzz.judge import judge_call
from fuzz.twists import Twister
from fuzz.world import World
from geomndp import _table_files
from geomndp.experiments import results

LOG = "step,loss,gradient_norm,seconds\n100,0.5,1.0,2.0\n200,0.4,0.9,4.0\n"


def reader(twist: Twister, world: World) -> Attempt:
    """A table whose file is damaged, read and given to its model."""
    name = twist.pick("table", ["mast", "winds", "tracks"])
    ending = twist.pick(
        "ending", ["csv", "csv", "csv", "csv", "parquet", "parquet", "parquet", "nc"]
    )
    good = (world.folder / f"{name}.{ending}").read_bytes()
    content = twist("content", good, lambda r: damaged(r, good))
    path = world.folder / f"odd.{ending}"

    def call() -> Any:
        path.write_bytes(content)
        try:
            table = _table_files.read_table(str(path))
        finally:
            path.unlink()
        return _numbers_of(world.known[name].model.condition(table))

    return {"content": content}, lambda: judge_call(call)


def other_files(twist: Twister, world: World) -> Attempt:
    """A log of a training or measured results, damaged."""
    form = twist.pick("kind", ["log", "results"])
    good = (
        LOG.encode() if form == "log" else json.dumps({"curve": {"a": [1.5, {"b": None}]}}).encode()
    )
    content = twist("content", good, lambda r: damaged(r, good))
    path = world.folder / ("odd.log.csv" if form == "log" else "odd.results.json")

    def call() -> Any:
        import matplotlib.pyplot as plt

        path.write_bytes(content)
        try:
            if form == "results":
                return results.read(path) and None
            gn.plot.training_curve(path)
        finally:
            path.unlink()
            plt.close("all")

    return {"kind": form, "content": content}, lambda: judge_call(call)
