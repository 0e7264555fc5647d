"""Scales that a data set shows: which inputs share one, and steps in the order of time."""

import numpy as np
import pytest
import xarray as xr
from numpy.testing import assert_allclose

from geomndp import build
from geomndp.auto.data_statistics import normaliser, step_length
from geomndp.equivariance import FieldType
from geomndp.geometry.geodesy import to_unit
from geomndp.tables import Functions, Variable, Variables

from .helper import TINY


@pytest.mark.parametrize(
    ("units", "rigid", "shared"),
    [
        (("", ""), None, False),
        (("m", ""), None, False),
        (("m", "metres"), None, True),
        (("", ""), FieldType(2, "scalar"), True),
    ],
)
def test_inputs_share_a_scale_only_if_they_say_so(units, rigid, shared):
    """Time to 4e5 and depth to 10 would otherwise be one scale, and depth nothing."""
    rng = np.random.default_rng(0)
    x = rng.uniform(0, [4e5, 10.0], (3, 50, 2))
    inputs = tuple(Variable(name, unit) for name, unit in zip("ab", units, strict=True))
    variables = Variables(inputs, (Variable("y"),))
    functions = Functions(x, rng.normal(size=(3, 50, 1)), np.full((3, 50), True), variables)
    scale = normaliser(functions, rigid).x_scale
    spread = np.std(x.reshape(-1, 2), axis=0)
    expected = np.sqrt(np.mean(spread**2)) if shared else spread
    assert_allclose(scale, np.atleast_1d(expected))


@pytest.mark.parametrize("missing", [False, True])
def test_columns_that_do_not_vary_keep_their_scale(missing):
    """An elevation of 0.1 at all points: the rounding of its mean is no unit."""
    rng = np.random.default_rng(0)
    x = np.stack([rng.uniform(size=(16, 10)), np.full((16, 10), 0.1)], axis=2)
    y = np.stack([rng.normal(size=(16, 10)), np.full((16, 10), 0.1)], axis=2)
    mask = np.full((16, 10, 2) if missing else (16, 10), True)
    mask[0, :5, ...] = [False, True] if missing else True
    variables = Variables((Variable("t"), Variable("z")), (Variable("a"), Variable("b")), "real", 1)
    units = normaliser(Functions(x, y, mask, variables), None)
    assert units.x_scale[1] == units.y_scale[1] == 1.0
    assert units.x_shift[1] == units.y_shift[1] == 0.1


def test_steps_are_those_of_time_in_any_order_of_the_rows():
    days = np.arange(20.0)
    y = to_unit(0.5 * days, np.zeros(20))
    shuffled = np.random.default_rng(0).permutation(20)
    x, y = days[shuffled][None, :, None], np.asarray(y)[shuffled][None]
    mask = np.full((1, 20), True)
    assert_allclose(np.degrees(step_length(x, y, mask)), 0.5)
    mask[0, ::2] = False  # padding between the rows is no step
    gaps = np.diff(np.sort(x[mask][:, 0]))
    assert_allclose(np.degrees(step_length(x, y, mask)), 0.5 * np.median(gaps))


@pytest.mark.parametrize("symmetry", ["translation", "none"])
def test_fourier_features_resolve_the_spacing_and_span_the_inputs(symmetry):
    """From the Nyquist wavelength, twice the spacing, to four extents, two per octave or more."""
    hours = 3.0 * np.arange(32)
    values = np.random.default_rng(0).normal(size=(20, 32))
    data = xr.Dataset({"y": (("function", "hour"), values)}, {"hour": hours})
    model = build(data, symmetry, **TINY).model
    net, (scale,) = model.score.net, model.normaliser.x_scale
    assert_allclose(scale * net.config.min_wavelength, 2 * 3.0, rtol=0.05)
    assert_allclose(scale * net.config.max_wavelength, 4 * np.ptp(hours), rtol=0.05)
    octaves = np.log2(net.config.max_wavelength / net.config.min_wavelength)
    assert net.config.num_frequencies >= 2 * octaves
