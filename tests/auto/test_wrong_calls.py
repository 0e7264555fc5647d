"""Data and options that `build` refuses, each in one sentence."""

import jax.random as jr
import numpy as np
import pytest

from geomndp import build, fit

from .helper import TINY

WRONG = {
    "symmetry": (lambda d, s, w: build(d, "rotation", function="day"), "symmetry to be one of"),
    "codomain": (lambda d, s, w: build(d, codomain="torus"), "codomain to be one of"),
    "no functions": (lambda d, s, w: build(d), "expected a dimension 'function', got 'day'"),
    "other functions": (lambda d, s, w: build(d, function="hour"), "over the dimension 'hour'"),
    "no outputs": (lambda d, s, w: build(d[[]], function="day"), "expected data variables"),
    "no inputs": (lambda d, s, w: build(w.drop_vars(["x", "y"])), "coordinates to be the inputs"),
    "missing output": (
        lambda d, s, w: build(d, function="day", outputs="pressure"),
        "expected a variable or coordinate 'pressure'",
    ),
    "empty function": (
        lambda d, s, w: build(d.where(d.day != 3), function="day"),
        "got none in function 3",
    ),
    "infinite output": (
        lambda d, s, w: build(d.where(d.day != 3, np.inf), function="day"),
        r"expected finite 'temperature' \(NaN pads\), got infinity in function 3",
    ),
    "infinite input": (
        lambda d, s, w: build(
            s.assign_coords(time=s.time.where(s["step"] < 9, np.inf)), "none", "sphere"
        ),
        "expected finite 'time'",
    ),
    "members as points": (
        lambda d, s, w: build(
            w.expand_dims(member=3), "none", inputs=("x", "y"), function="function"
        ),
        r"expected 'u' over the dimensions .*'function', 'x', 'y'\), got 'member', 'function'",
    ),
    "output of a row": (
        lambda d, s, w: build(w.assign(p=w.p.isel(x=0, drop=True)), "none"),
        "expected 'p' over the dimensions",
    ),
    "half a vector": (
        lambda d, s, w: build(
            w[["u", "v"]].assign(u=w.u.where(w.x != 2)), "E(2)", inputs=("x", "y")
        ),
        "expected all outputs at a point or none",
    ),
    "vector without order": (
        lambda d, s, w: build(w[["u", "v"]], "E(2)"),
        "inputs=... in the order",
    ),
    "representations": (
        lambda d, s, w: build(w, "E(2)", inputs=("x", "y")),
        "expected representations=",
    ),
    "wrong representations": (
        lambda d, s, w: build(w, "E(2)", inputs=("x", "y"), representations="vector"),
        "expected representations of 3 outputs, got 2",
    ),
    "plane in time": (lambda d, s, w: build(d, "E(2)", function="day"), "expected 2 inputs for E"),
    "representations on a line": (
        lambda d, s, w: build(d, function="day", representations="scalar"),
        "representations with E",
    ),
    "turning tracks": (
        lambda d, s, w: build(s, "E(2)", "sphere"),
        "'translation' or 'none' on the",
    ),
    "no place": (lambda d, s, w: build(d, "none", "sphere", function="day"), "is the latitude"),
    "radians": (
        lambda d, s, w: build(
            np.radians(s.reset_coords()).drop_attrs(), "none", "sphere", inputs="time"
        ),
        "look like radians",
    ),
    "frame without inputs": (lambda d, s, w: build(d.to_dataframe()), "inputs=... for a DataFrame"),
    "no data": (
        lambda d, s, w: fit(build(d, function="day", **TINY).model, steps=1, key=jr.key(0)),
        "learn",
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_calls_are_refused_in_words(case, days, storms, winds):
    call, message = WRONG[case]
    with pytest.raises(ValueError, match=message) as error:
        call(days, storms, winds)
    assert str(error.value).startswith("expected") and "\n" not in str(error.value)


def test_data_without_anything_random_warns(days):
    one = days.assign(temperature=days.temperature.where(days.temperature.isnull(), 3.0))
    with pytest.warns(UserWarning, match="'temperature' is 3 at every point: nothing is random"):
        build(one, function="day", outputs="temperature", key=0)


def test_functions_that_are_all_the_same_warn(winds):
    same = winds[["p"]].isel(function=[0, 0, 0, 0, 0]).assign_coords(function=np.arange(5))
    with pytest.warns(UserWarning, match="all 5 functions have the same values"):
        build(same, key=0)


def test_one_wild_value_warns(days):
    wild = days.copy(deep=True)
    wild.temperature[3, 2] = 1e6
    with pytest.warns(UserWarning, match="one value of 'temperature', 1e.06, is so far"):
        build(wild, function="day", outputs="temperature", key=0)
