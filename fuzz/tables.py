"""Tables of pandas and xarray with odd columns, indexes, dimensions and units."""

from __future__ import annotations

from random import Random
from typing import Any

import jax.random as jr
import numpy as np
import pandas as pd

import geomndp as gn
from fuzz.calls import Attempt, _numbers_of
from fuzz.judge import judge_call
from fuzz.twists import Twister
from fuzz.values import NOTHINGS
from fuzz.world import World

COLUMNS = (
    ["a", "b", "c"],
    [None, 1.0, 2.0],
    [np.nan, 1.0, 2.0],
    [np.inf, 1.0, 2.0],
    [1e30, -1e30, 1e300],
    [True, False, True],
    [1 + 2j, 0, 0],
    [1, 2, 3],
    [95.0, -95.0, 400.0],
    [[1], [2], [3]],
    [{}, 1, "a"],
    pd.to_datetime(["2024-01-01", "2024-01-02", None]),
    pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"]),
    pd.to_datetime(["2024-01-01", "1700-01-02", "2261-01-03"]).tz_localize("Europe/Berlin"),
    pd.to_timedelta([1, 2, 3], unit="h"),
    pd.period_range("2024", periods=3, freq="M"),
    pd.Categorical(["1", "2", "1"]),
    pd.Categorical([1.0, 2.0, 1.0]),
    pd.array([1, None, 3], dtype="Int64"),
    pd.array([1.5, None, 3], dtype="Float64"),
    pd.array([True, None, False], dtype="boolean"),
    pd.array(["a", None, "b"], dtype="string"),
    pd.arrays.SparseArray([0.0, 1.0, 2.0]),
    pd.interval_range(0, 3),
    np.array(["1900-01-01", "2100-01-01", "NaT"], "datetime64[D]"),
    np.array([0.1, 0.2, 0.3], "float16"),
)
UNITS = (
    "",
    "K",
    "hours",
    "days since 2000-01-01",
    "days since dawn",
    "m s-1",
    3,
    None,
    "°",
    "\x00",
)


def table(twist: Twister, world: World) -> Attempt:
    """A model is conditioned on a table, and sampled at the locations of another."""
    name = twist.pick("model", list(world.frames))
    model, good = world.known[name].model, world.frames[name]
    form = twist.pick("kind", ["DataFrame", "Dataset"])
    given = _twisted(twist, "given", good, model, form)
    noise = twist("noise", 0.1, lambda r: r.choice(["sd", "temperature", "none", "", -1.0, "time"]))
    at = _twisted(twist, "at", good, model, form)
    drawn = twist.random("drawn").random() < 0.2

    def call() -> Any:
        posterior = model.condition(given, noise=noise)
        if not drawn:
            return _numbers_of(posterior)
        found = posterior.sample(at, key=jr.key(0), num_samples=2, sampler=world.sampler)
        return found[list(model.variables.output_names)] if gn.tables.is_table(found) else found

    return {"given": given, "noise": noise, "at": at}, lambda: judge_call(call)


def functions(twist: Twister, world: World) -> Attempt:
    """Tables of many functions: what `build` reads."""
    form = twist.pick("kind", ["DataFrame", "Dataset"])
    data = _many(twist, form)
    options = {
        "function": twist("function", "function", _odd_names),
        "inputs": twist("inputs", "x", _odd_names),
        "outputs": twist("outputs", "y", _odd_names),
        "codomain": twist("codomain", "real", lambda r: r.choice(["sphere", "torus", 3, None])),
        "elapsed": twist("elapsed", True, lambda r: r.choice([False, None])),
    }
    return {"data": data} | options, lambda: judge_call(
        lambda: gn.tables.read_functions(data, **options)[:2]
    )


def build(twist: Twister, world: World) -> Attempt:
    """Everything that `build` chooses."""
    form = twist.pick("kind", ["DataFrame", "Dataset"])
    data = _many(twist, form)
    options = {
        "symmetry": twist(
            "symmetry", "translation", lambda r: r.choice(["none", "E(2)", "E(3)", 3, ""])
        ),
        "codomain": twist("codomain", "real", lambda r: r.choice(["sphere", "torus", 3])),
        "function": twist("function", "function", _odd_names),
        "inputs": twist("inputs", "x", _odd_names),
        "outputs": twist("outputs", "y", _odd_names),
        "representations": twist(
            "representations",
            None,
            lambda r: r.choice([("scalar",), ("vector",), "x", 3, (), [None]]),
        ),
        "batch_size": twist("batch_size", 2, lambda r: r.choice([0, -1, 1.5, "a", None, True])),
        "key": twist("key", None, lambda r: r.choice([0, "a", -1, [], jr.key(1)])),
        "width": twist("width", 4, lambda r: r.choice([0, -1, "a", None, 3, 4.0])),
        "num_layers": 1,
        "num_heads": twist("num_heads", 1, lambda r: r.choice([3, 0, None, "a"])),
    }
    options |= twist("unknown", {}, lambda r: {r.choice(["widht", "depth", "x"]): 3})
    return {"data": data} | options, lambda: judge_call(lambda: gn.build(data, **options) and None)


def _odd_names(random: Random) -> Any:
    return random.choice(
        (None, "", "nothing", "x", "y", ("x", "y"), ["x"], [], 3, {}, ("x", None), "sample")
    )


def _many(twist: Twister, form: str) -> Any:
    """Four functions of six points."""
    function, x = np.repeat(np.arange(4), 6), np.tile(np.linspace(0.0, 2.0, 6), 4)
    frame = pd.DataFrame({"function": function, "x": x, "y": np.sin(3 * x + function)})
    frame = twist("column", frame, lambda r: _odd_long(r, frame))
    if form == "DataFrame":
        return twist("data", frame, lambda r: r.choice(NOTHINGS))
    try:
        data = frame.set_index(["function", "x"]).to_xarray()
    except Exception:  # of pandas or xarray, on the way to the call
        data = frame.to_xarray()
    data = twist("units", data, lambda r: _with_units(r, data))
    odd = (lambda: data.y, lambda: data.isel(x=[]), lambda: data.expand_dims("z"), lambda: data.x)
    more = (
        lambda: data.drop_vars("x", errors="ignore"),
        lambda: data.where(data.y > 0.5),
        lambda: data.transpose(),
    )
    return twist("data", data, lambda r: r.choice((*odd, *more))())


def _odd_long(random: Random, frame: pd.DataFrame) -> pd.DataFrame:
    column = random.choice(COLUMNS)
    values = pd.Series(column).iloc[np.arange(24) % 3].reset_index(drop=True)
    options = (
        lambda: frame.assign(**{random.choice(["function", "x", "y"]): values}),
        lambda: frame.iloc[:0],
        lambda: frame.iloc[:1],
        lambda: frame.iloc[:7],
        lambda: frame.drop(columns=random.choice(["function", "x", "y"])),
        lambda: frame.assign(y=3.0),
        lambda: frame.assign(x=3.0),
        lambda: frame.assign(y=frame.y * 1e30),
        lambda: frame.assign(x=frame.x + 1e9),
        lambda: frame.assign(function=np.arange(24)),
        lambda: frame.sample(frac=1, random_state=0),
    )
    return random.choice(options)()


def _twisted(twist: Twister, name: str, good: pd.DataFrame, model: Any, form: str) -> Any:
    """A table with an odd column, index, or shape."""
    frame = twist(f"{name} column", good, lambda r: _odd_column(r, good))
    frame = twist(f"{name} index", frame, lambda r: _odd_index(r, frame))
    if form == "Dataset":
        inputs = [n for n in model.variables.input_names if n in frame.columns]
        try:
            data = frame.set_index(inputs).to_xarray() if inputs else frame.to_xarray()
        except Exception:  # of pandas or xarray, on the way to the call
            return frame
        data = twist(f"{name} units", data, lambda r: _with_units(r, data))
        return twist(f"{name} shape", data, lambda r: _odd_dataset(r, data))
    frame = twist(f"{name} units", frame, lambda r: _with_units(r, frame))
    return twist(f"{name} whole", frame, lambda r: r.choice(NOTHINGS))


def _odd_column(random: Random, frame: pd.DataFrame) -> pd.DataFrame:
    name = random.choice(list(frame.columns))
    odd = random.choice(COLUMNS)
    return frame.assign(**{name: pd.Series(odd).iloc[: len(frame)].set_axis(frame.index)})


def _odd_index(random: Random, frame: pd.DataFrame) -> pd.DataFrame:
    options = (
        lambda: frame.iloc[:0],
        lambda: frame.iloc[:, :0],
        lambda: frame.iloc[[0, 0, 1]],
        lambda: frame.set_index(frame.columns[0]),
        lambda: frame.set_index(list(frame.columns[:2])),
        lambda: pd.concat([frame, frame], axis=1),
        lambda: frame.set_axis(range(len(frame.columns)), axis=1),
        lambda: frame.set_axis(pd.MultiIndex.from_product([["a"], frame.columns]), axis=1),
        lambda: frame.set_axis([0, 0, 0], axis=0),
        lambda: frame.rename(columns=str.upper),
        lambda: frame.astype(object),
        lambda: frame.astype(str),
        lambda: frame.T,
    )
    return random.choice(options)()


def _odd_dataset(random: Random, data: Any) -> Any:
    first = next(iter(data.sizes), None)
    options = (
        lambda: data[next(iter(data))],
        lambda: data.coords.to_dataset(),
        lambda: data.expand_dims("sample"),
        lambda: data.isel({first: []}),
        lambda: data.isel({first: 0}),
        lambda: data.reset_index(first),
        lambda: data.drop_vars(first),
        lambda: data.rename({first: "other"}),
        lambda: data.expand_dims(member=2),
        lambda: data.astype("float16"),
        lambda: data.astype(complex),
        lambda: data.stack(all=list(data.sizes)),
        lambda: data.to_array(),
    )
    return random.choice(options)()


def _with_units(random: Random, table: Any) -> Any:
    """Units that are others, or none at all."""
    if isinstance(table, pd.DataFrame):
        table = table.copy()
        odd = {random.choice(list(map(str, table.columns)) or ["x"]): random.choice(UNITS)}
        table.attrs["units"] = random.choice([odd, odd, odd, "K", None, ["K"]])
        return table
    table = table.copy()
    table[random.choice(list(table.variables))].attrs["units"] = random.choice(UNITS)
    return table
