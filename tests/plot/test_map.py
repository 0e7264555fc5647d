"""Maps: land without a download, tracks without a break."""

import socket

import matplotlib.pyplot as plt
import numpy as np
import pytest

from geomndp import plot
from geomndp.geometry.geodesy import to_unit
from geomndp.plot import land, map as maps


@pytest.fixture(autouse=True)
def no_network(monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("a figure opened a connection")

    monkeypatch.setattr(socket, "socket", refuse)
    yield
    plt.close("all")


def inside(lon, lat):
    from matplotlib.path import Path

    return any(
        Path(ring).contains_point((lon + turn, lat))
        for ring in land.rings()
        for turn in (-360, 0, 360)
    )


@pytest.mark.parametrize(
    ("lon", "lat", "dry"),
    [
        (25, 0, True),  # Africa
        (-100, 45, True),  # North America
        (-175, 66.5, True),  # Chukotka, beyond the date line
        (100, -85, True),  # Antarctica
        (-150, 0, False),
        (-35, 30, False),
    ],
)
def test_land_is_land(lon, lat, dry):
    assert inside(lon, lat) is dry


def crossing(count=3):
    lon = 175 + np.arange(12)
    return to_unit(10 + np.arange(count)[:, None] + 0 * lon, np.broadcast_to(lon, (count, 12)))


def longest_step(ax):
    return max(
        np.abs(np.diff(path.vertices[:, 0])).max()
        for shown in ax.collections[1:]
        for path in shown.get_paths()
    )


def test_tracks_do_not_break_at_the_date_line():
    ax = plot.track_map(crossing(), colors=[1, 2, 3], title="tracks")
    assert ax.get_xlim() == (0, 360) and ax.get_title() == "tracks"
    assert longest_step(ax) < 1.5


def test_a_fan_shows_what_is_known_and_what_came():
    y, x = crossing(), np.arange(12.0)[:, None] / 8
    _, ax = plt.subplots()
    context, targets = (x[:4], y[0, :4]), x[4:]
    assert plot.fan_map(targets, y[:, 4:], context=context, truth=y[0, 4:], ax=ax) is ax
    assert longest_step(ax) < 1.5
    west, east = ax.get_xlim()
    assert west < 175 < 186 < east
    labels = ax.get_legend_handles_labels()[1]
    assert {"samples", "truth", "observed"} <= set(labels)


def test_interpolation_is_drawn_in_the_order_of_time():
    y, x = crossing(1), np.arange(12.0)[:, None]
    known, targets = np.r_[0:3, 9:12], np.arange(3, 9)
    ax = plot.fan_map(x[targets], y[:, targets], context=(x[known], y[0, known]))
    assert longest_step(ax) < 1.5


def test_labels_are_of_the_globe():
    assert [maps._degrees(value, "E", "W") for value in (0.0, 30.0, -90.0, -180.0)] == [
        "0°",
        "30°E",
        "90°W",
        "180°",
    ]


def test_refusals():
    with pytest.raises(ValueError, match=r"\(s, n, 3\), got shape \(12, 3\)"):
        plot.track_map(crossing()[0])
    with pytest.raises(ValueError, match="expected an extent"):
        plot.land_map(extent=(10, 5, -20, 20))
    x = np.zeros((1, 1))
    with pytest.raises(ValueError, match=r"expected samples of shape \(s, 1, 3\)"):
        plot.fan_map(x, crossing(), context=(x, crossing()[0, :1]))
