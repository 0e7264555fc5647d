"""Every picture takes arrays and tables, draws on the axes it is given, and returns them."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_allclose

from geomndp import plot, summaries
from geomndp.data import disc
from geomndp.plot import map as maps
from geomndp.train import History

RNG = np.random.default_rng(0)
HOURS = pd.date_range("2024-03-01", periods=6, freq="h").as_unit("ns")


@pytest.fixture(autouse=True)
def closed():
    yield
    plt.close("all")


@pytest.fixture
def ax():
    return plt.subplots()[1]


def temperatures():
    values = RNG.normal(size=(5, 6))
    array = xr.DataArray(values, dims=("sample", "time"), attrs={"units": "degC"})
    return xr.Dataset({"temperature": array}, {"time": HOURS})


def fields():
    """On a grid whose dimensions are not in the order of its coordinates."""
    axes = {"y": [0.0, 1.0, 2.0], "x": [0.0, 1.0]}
    u, v = np.meshgrid([0.0, 1.0], [10.0, 20.0, 30.0])
    values = {"u": u, "v": v}
    data = {n: (("sample", "y", "x"), np.stack([value, value + 2])) for n, value in values.items()}
    return xr.Dataset(data, axes)


def storms(samples=4):
    lat = 10 + np.arange(6.0)[None, :] + RNG.normal(size=(samples, 6))
    lon = 176 + np.arange(6.0)[None, :] + 0 * lat
    frame = {"sample": np.repeat(np.arange(samples), 6), "time": np.tile(HOURS, samples)}
    return pd.DataFrame({**frame, "lat": lat.reshape(-1), "lon": lon.reshape(-1)})


def lines(ax):
    return [line.get_ydata() for line in ax.lines]


def test_functions_of_a_table_are_those_of_its_arrays(ax):
    samples = temperatures()
    seen = pd.DataFrame({"time": HOURS[:2], "temperature": [1.0, 2.0]})
    assert plot.functions_1d(samples, context=seen, title="mast", ax=ax) is ax
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("time", "temperature [degC]")
    other = plt.subplots()[1]
    x, y = HOURS.to_numpy(), samples.temperature.values
    plot.functions_1d(x, y, context=(x[:2], [1.0, 2.0]), ax=other)
    assert len(ax.lines) == 6 and ax.get_title() == "mast"
    for one, same in zip(lines(ax), lines(other), strict=True):
        assert_allclose(one, same)


def test_no_picture_draws_over_the_current_figure(tmp_path):
    """Without axes each has a figure of its own."""
    mine = plt.figure()
    x, y = np.arange(4.0)[:, None], RNG.normal(size=(3, 4, 1))
    history = History(*[np.array([1.0, 2.0])] * 4)
    drawn = (
        plot.functions_1d(x, y),
        plot.vector_field(disc(4, 1.0), np.ones_like(disc(4, 1.0))),
        plot.land_map(),
        plot.calibration([0.5]),
        plot.coverage([0.5]),
        plot.training_curve(history),
    )
    assert not mine.axes
    assert len({id(ax.figure) for ax in drawn}) == len(drawn)


@pytest.mark.parametrize("form", ["dataset", "frame", "arrays"])
def test_several_outputs_have_axes_each_with_names_and_units(form):
    samples = temperatures()
    attributes = {"units": "hPa"}
    samples["pressure"] = (("sample", "time"), RNG.normal(size=(5, 6)), attributes)
    if form == "dataset":
        axes = plot.functions_1d(samples)
    elif form == "frame":
        frame = samples.to_dataframe().reset_index()
        frame.attrs["units"] = {"temperature": "degC", "pressure": "hPa"}
        axes = plot.functions_1d(frame)
    else:
        values = np.stack([samples.temperature, samples.pressure], axis=-1)
        axes = plot.functions_1d(HOURS.to_numpy(), values, context=(HOURS[:1], [[1.0, 2.0]]))
    for ax, name in zip(axes, ("temperature", "pressure"), strict=True):
        assert_allclose(lines(ax)[0], samples[name][0])
    labels = ["y1", "y2"] if form == "arrays" else ["temperature [degC]", "pressure [hPa]"]
    assert [ax.get_ylabel() for ax in axes] == labels
    assert axes[0].figure is axes[1].figure
    if form == "arrays":
        assert [lines(ax)[-1].tolist() for ax in axes] == [[1.0], [2.0]]
        with pytest.raises(ValueError, match="expected 2 axes, one per output, got 1"):
            plot.functions_1d(HOURS.to_numpy(), values, ax=axes[0])


def test_masked_samples_are_gaps(ax):
    x = np.arange(4.0)
    plot.functions_1d(x, np.ma.masked_greater(x, 2.5)[None], ax=ax)
    assert_allclose(lines(ax)[0], [0.0, 1.0, 2.0, np.nan])


def test_observations_are_drawn_in_the_units_of_the_samples(ax):
    days = {"time": ("time", np.arange(6.0), {"units": "days"})}
    samples = temperatures().drop_vars("time").assign_coords(days)
    seen = pd.DataFrame({"time": [24.0, 48.0], "temperature": [1.0, 2.0]})
    seen.attrs["units"] = {"time": "hours"}
    plot.functions_1d(samples, context=seen, ax=ax)
    assert_allclose(ax.lines[-1].get_xdata(), [1.0, 2.0])
    assert ax.get_xlim() == (0.0, 5.0)
    seen.time = [-48.0, 0.0]  # before what is predicted, and shown all the same
    plot.functions_1d(samples, context=seen, ax=ax)
    assert ax.get_xlim() == (-2.0, 5.0)
    seen.attrs["units"] = {"temperature": "kelvin"}
    with pytest.raises(ValueError, match="expected 'temperature' in 'degc', got 'kelvin'"):
        plot.functions_1d(samples, context=seen, ax=ax)
    tracks = storms().assign(time=np.tile(np.arange(6.0), 4))
    tracks.attrs["units"] = {"time": "days"}
    fixes = tracks[tracks["sample"] == 0].iloc[:2].drop(columns="sample")
    fixes = fixes.assign(time=[24.0, 48.0])
    fixes.attrs["units"] = {"time": "hours"}
    assert_allclose(maps._known(fixes, tracks)[0], [1.0, 2.0])


def test_a_picture_does_not_write_into_a_table(ax):
    one = storms(1)[["sample", "time", "lat"]]
    plot.functions_1d(one, ax=ax)
    assert one.attrs == {}


def test_a_summary_is_one_function(ax):
    mean = summaries.mean(temperatures()).value
    plot.functions_1d(mean, ax=ax)
    assert_allclose(lines(ax)[0], mean.temperature)
    frame = summaries.mean(storms()[["sample", "time", "lat"]]).value
    other = plot.functions_1d(frame, ax=plt.subplots()[1])
    assert_allclose(lines(other)[0], frame.lat)


@pytest.mark.parametrize("form", ["dataset", "frame"])
def test_a_field_is_drawn_where_it_is(form, ax):
    samples = fields()
    if form == "frame":
        samples = samples.to_dataframe().reset_index()[["sample", "x", "y", "u", "v"]]
        samples.attrs["inputs"] = ["x", "y"]
    seen = pd.DataFrame({"x": [0.5], "y": [0.5], "u": [1.0], "v": [0.0]})
    assert plot.vector_field(samples, context=seen, scale=1.0, ax=ax) is ax
    arrows, discs, observed = ax.collections
    flow = {tuple(place): (arrows.U[i], arrows.V[i]) for i, place in enumerate(arrows.XY)}
    assert flow[(1.0, 0.0)] == (2.0, 11.0) and flow[(0.0, 2.0)] == (1.0, 31.0)
    assert_allclose(discs.get_heights(), 2 * 2**0.5)
    assert_allclose(observed.XY, [[0.5, 0.5]])


def test_a_single_field_has_no_discs(ax):
    x = disc(4, 1.0)
    plot.vector_field(x, np.ones_like(x), ax=ax)
    assert len(ax.collections) == 1


def test_tracks_of_a_table(ax):
    samples = storms()
    fixes = pd.DataFrame(
        {"time": HOURS[:2] - pd.Timedelta("1D"), "lat": 9.0, "lon": [173.0, 175.0]}
    )
    assert plot.fan_map(samples, context=fixes, ax=ax) is ax
    west, east = ax.get_xlim()
    assert west < 173 < 181 < east < 200
    assert_allclose(ax.lines[1].get_ydata(), 9.0)
    assert samples.attrs == {}
    truth = samples[samples["sample"] == samples["sample"].iloc[0]].drop(columns="sample")
    drawn = plot.fan_map(samples, context=fixes, truth=truth, ax=plt.subplots()[1])
    assert "truth" in drawn.get_legend_handles_labels()[1]
    with pytest.raises(ValueError, match="truth at the times of the samples"):
        plot.fan_map(samples, context=fixes, truth=fixes)
    assert plot.track_map(samples, ax=plt.subplots()[1]).get_xlim() == (0, 360)


def test_calibration_of_the_right_law_is_flat_and_on_the_diagonal(ax):
    pit = xr.DataArray((np.arange(400) + 0.5).reshape(20, 20) / 400)
    assert plot.calibration(pit, bins=10, ax=ax) is ax
    assert_allclose(ax.patches[0].get_data().values, 1.0)
    other = plt.subplots()[1]
    assert plot.coverage(pit, label="model", ax=other) is other
    assert_allclose(*other.lines[0].get_data(), atol=0.01)
    timid = plot.coverage(0.5 + 0.25 * (pit - 0.5), ax=plt.subplots()[1])
    assert np.all(timid.lines[0].get_ydata() >= timid.lines[0].get_xdata())


def test_training_curve_of_a_history_and_of_its_log(tmp_path, ax):
    steps = np.array([10, 20])
    history = History(steps, steps / 100, steps / 10, steps / 2)
    assert plot.training_curve(history, title="run", ax=ax) is ax
    assert_allclose(lines(ax)[0], [0.1, 0.2])
    text = "step,loss,gradient_norm,seconds\n10,0.1,1.0,5.0\n20,0.2,2.0,10.0\n"
    (tmp_path / "log.csv").write_text(text)
    other = plot.training_curve(tmp_path, measure="seconds", ax=plt.subplots()[1])
    assert_allclose(lines(other)[0], history.seconds)


def test_refusals(tmp_path, ax):
    x = np.zeros((3, 1))
    for wrong, words in (
        (lambda: plot.functions_1d(x), "or a table of samples"),
        (lambda: plot.functions_1d(x, np.zeros((2, 4, 1))), r"got shapes \(3, 1\)"),
        (lambda: plot.functions_1d(fields()), "expected 1 inputs, got"),
        (lambda: plot.functions_1d(x, fields()), "x and samples as arrays, or a table of samples"),
        (lambda: plot.functions_1d(x, x, context=fields()), "as arrays"),
        (lambda: plot.fan_map(x, np.zeros((1, 3, 3)), context=storms()), "as arrays"),
        (lambda: plot.calibration([1.5]), "from 0 to 1"),
        (lambda: plot.coverage([]), "from 0 to 1"),
        (lambda: plot.training_curve(tmp_path), "which is no file"),
        (lambda: plot.training_curve("log.csv", measure="x"), "expected measure"),
    ):
        with pytest.raises(ValueError, match=words):
            wrong()
