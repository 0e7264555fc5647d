"""Plans do not depend on labels, rows and units of a table: the same functions are fitted."""

import numpy as np
import pandas as pd
from numpy.testing import assert_allclose, assert_array_equal

from geomndp.auto import build

from .helper import TINY

NAMES = {"inputs": "t", "outputs": ["u", "v"], "groups": "owner", "symmetry": "none"}


def table():
    """Functions of which two differ in one value, with missing outputs and repeated inputs."""
    rng = np.random.default_rng(0)
    parts = []
    for number, size in enumerate((7, 5, 5, 6, 4, 5)):
        values = rng.normal(size=(size, 3))
        if number == 2:
            values = np.concatenate([parts[1][["t", "u"]], parts[1][["v"]]], axis=1)
            values[3, 2] += 1.0
        part = pd.DataFrame(values, columns=["t", "u", "v"])
        parts.append(part.assign(function=f"f{number}", owner=f"o{number // 2}"))
    parts[3].loc[2, "u"] = np.nan
    return pd.concat(parts, ignore_index=True)


def test_labels_rows_and_units_change_nothing():
    first = build(table(), function="function", **NAMES, **TINY)
    other = table().sample(frac=1, random_state=3)
    other["function"] = other.function.map(
        dict(zip(table().function.unique(), "cadfbe", strict=True))
    )
    other = other.assign(t=1e6 + 60 * other.t, u=1e-3 * other.u)
    second = build(other, function="function", **NAMES, **TINY)
    assert first.groups == second.groups
    assert_array_equal(first.functions.mask, second.functions.mask)
    real = first.functions.rows
    assert_allclose(1e6 + 60 * first.functions.x[real], second.functions.x[real])
    scaled = first.functions.y * [1e-3, 1.0] * first.functions.mask
    assert_allclose(scaled, second.functions.y * second.functions.mask)
    assert all(
        (np.diff(x[there, 0]) >= 0).all() for x, there in zip(first.functions.x, real, strict=True)
    )


def test_rows_of_a_plan_are_found_in_the_table():
    plan = build(table(), function="function", **NAMES, **TINY)
    assert sorted(plan.order) == list(range(6)) != list(plan.order)
    counts = table().dropna(subset=["u", "v"], how="all").groupby("function").size().to_numpy()
    assert_array_equal(plan.functions.rows.sum(axis=1), counts[list(plan.order)])
    ordered = build(table(), function="function", ordered=True, **NAMES, **TINY)
    assert ordered.order == tuple(range(6))
