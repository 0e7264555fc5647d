"""Patches cover every point once, and what each sees is what was drawn before within its halo."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from geomndp.patches import Patches, grid, plan, plan_points
from geomndp.patches.context import context_of
from geomndp.patches.locations import check_axis

AXES = np.arange(13) * 0.5, np.arange(9) * 0.5, np.arange(7) * 0.5
NOTHING = np.zeros((0, 2))
RANDOM = np.random.default_rng(0).uniform(0, 10, (500, 2))


def sphere_points(n):
    points = np.random.default_rng(1).normal(size=(n, 3))
    return points / np.linalg.norm(points, axis=1, keepdims=True)


LAYOUTS = {
    "line": plan(grid(AXES[:1]), Patches(2, 1)),
    "plane": plan(grid(AXES[:2]), Patches(2, 1)),
    "space": plan(grid(AXES), Patches(2, 1)),
    "anisotropic": plan(grid(AXES[:2]), Patches((2, 1), (1, 0.5))),
    "points": plan_points(RANDOM, Patches(3, 1.5)),
    "dense points": plan_points(RANDOM, Patches(3, 1.5, max_points=20)),
    "sphere": plan_points(sphere_points(400), Patches(0.7, 0.4)),
    "circle": plan_points(RANDOM[:, :1], Patches(2, 1), periods=(10.0,)),
    "coarse plane": plan(grid(AXES[:2]), Patches(2, 1, stride=3)),
    "coarse points": plan_points(RANDOM, Patches(3, 1.5, stride=2)),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_every_point_is_drawn_once_and_earlier_points_in_reach_are_seen(name):
    layout = LAYOUTS[name]
    drawn, stages, positions = [], [], []
    for patch in layout.patches:
        x = layout.inputs(patch)[layout.targets(patch)]
        drawn.append(x)
        stages += [(patch.level, patch.stage)] * len(x)
        positions.append(layout.levels[0].locations.positions(x))
    points = layout.levels[-1].locations
    everything = points.inputs(tuple(slice(0, n) for n in points.shape))
    assert sorted(map(tuple, np.concatenate(drawn))) == sorted(map(tuple, everything))
    positions, (levels, stages) = np.concatenate(positions), np.asarray(stages).T
    for patch in layout.patches:
        low, high = layout.box(patch)
        outside = np.maximum(np.maximum(low - positions, positions - high), 0)
        halos = np.stack([layout.levels[level].halo for level in levels])
        near = np.linalg.norm(outside / halos, axis=1) <= 1 + 1e-9
        expected = np.concatenate(drawn)[near & (stages < patch.stage)]
        assert sorted(map(tuple, layout.kept(patch).x)) == sorted(map(tuple, expected))


@pytest.mark.parametrize(("name", "colours"), [("line", 2), ("plane", 4), ("space", 8)])
def test_colours_of_a_grid_are_a_checkerboard(name, colours):
    level = LAYOUTS[name].levels[0]
    assert len(LAYOUTS[name].stages) == colours
    starts = [
        [part.start // size % 2 for part, size in zip(s, level.chunks, strict=True)]
        for s in level.slices
    ]
    by_parity = {tuple(start): set() for start in starts}
    for start, colour in zip(starts, level.colours, strict=True):
        by_parity[tuple(start)].add(int(colour))
    assert sorted(len(found) for found in by_parity.values()) == [1] * colours


@pytest.mark.parametrize("name", ["points", "dense points", "sphere", "circle", "coarse points"])
def test_patches_of_one_colour_are_apart(name):
    level = LAYOUTS[name].levels[-1]
    parts = [level.positions(slices) / level.width for slices in level.slices]
    for i, a in enumerate(parts):
        for j in range(i):
            if level.colours[i] == level.colours[j]:
                assert cdist(a, parts[j]).min() >= 0.5


SPARSE = {
    "wide steps": plan(grid(AXES[:2]), Patches(0.6, 4)),
    "wide coarse steps": plan(grid(AXES[:2]), Patches(2, 4, stride=2)),
    "rows": plan(grid((np.arange(8) * 1.0, np.arange(60) * 0.05)), Patches(1.2, 4)),
    "few points": plan_points(RANDOM, Patches(0.2, 4)),
}


@pytest.mark.parametrize("name", SPARSE)
def test_neighbours_never_have_one_colour(name):
    """Where points are as far apart as patches are wide: they would be drawn independently."""
    level = SPARSE[name].levels[0]
    parts = [level.positions(slices) for slices in level.slices]
    for i, a in enumerate(parts):
        gaps = [cdist(a, b).min() if i != j else np.inf for j, b in enumerate(parts)]
        assert level.colours[i] != level.colours[int(np.argmin(gaps))]
    if level.locations.rows is None:  # neighbours along both dimensions of a grid
        counts = [
            -(-n // size) for n, size in zip(level.locations.shape, level.chunks, strict=True)
        ]
        colours = level.colours.reshape(counts)
        assert np.all(colours[1:] != colours[:-1]) and np.all(colours[:, 1:] != colours[:, :-1])


def test_a_circle_has_no_end():
    level = LAYOUTS["circle"].levels[0]
    x = level.locations.inputs((slice(0, 500),))
    box = level.locations.positions(np.zeros((1, 1)))[0]
    seen = x[level.seen(level.positions((slice(0, 500),)), box, box), 0]
    assert seen.min() < 0.5 and seen.max() > 9.5  # its end and its beginning are neighbours
    assert not np.any((seen > 1.1) & (seen < 8.9))


def test_the_nearest_points_are_kept_where_there_are_too_many():
    layout = plan(grid(AXES[:2]), Patches(2, 2, max_context=10))
    patch = layout.patches[layout.stages[-1][0]]
    with pytest.warns(UserWarning, match="the nearest 10 of them count"):
        context = context_of(layout, patch, np.asarray([[1.0, 1.0]]))
    targets, seen = layout.inputs(patch), layout.kept(patch).x
    distance = cdist(seen, targets).min(axis=1)
    assert len(context.observed) + len(context.chosen) == 10
    assert distance[context.chosen].max() <= np.sort(distance)[10]


def test_a_patch_holds_no_more_points_than_allowed():
    for layout in (
        plan(grid(AXES[:2]), Patches(100, 1, max_points=20)),
        plan_points(RANDOM, Patches(100, 1, max_points=20)),
    ):
        assert max(len(layout.inputs(patch)) for patch in layout.patches) <= 20


@pytest.mark.parametrize("values", [[1.0, 0.0, 2.0], [0.0, 0.0], [], [[1.0]], [0.0, np.nan]])
def test_axes_that_are_not_sorted_are_refused(values):
    with pytest.raises(ValueError, match=r"along axis 0|of shape"):
        check_axis("axis 0", np.asarray(values))


@pytest.mark.parametrize(
    "options",
    [
        {"width": 0, "halo": 1},
        {"width": 1, "halo": -1},
        {"width": np.nan, "halo": 1},
        {"width": "wide", "halo": 1},
        {"width": 1, "halo": [[1.0]]},
        {"width": 1, "halo": 1, "max_points": 0},
        {"width": 1, "halo": 1, "stride": 0},
        {"width": (), "halo": 1},
    ],
)
def test_impossible_schemes_are_refused(options):
    with pytest.raises(ValueError, match="expected"):
        Patches(**options)


def test_a_length_for_every_input_or_one_for_all():
    with pytest.raises(ValueError, match="expected one length, or one per input, got 3 for 2"):
        plan(grid(AXES[:2]), Patches((1, 2, 3), 1))


@pytest.mark.parametrize("x", [np.zeros(4), np.zeros((0, 2)), np.asarray([[np.nan, 0.0]])])
def test_points_that_are_no_places_are_refused(x):
    with pytest.raises(ValueError, match="expected"):
        plan_points(x, Patches(1, 1))
