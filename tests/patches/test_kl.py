"""The divergence of a scheme is that between two Gaussians, both known in full."""

import numpy as np
import pytest

import geomndp as gn
from geomndp.patches import Patches, grid, plan, plan_points, scheme_kl

from .scheme_law import scheme_law

NOISE = 0.02
POINTS = np.random.default_rng(0).uniform(0, 6, (60, 2))
OBSERVED = np.random.default_rng(1).uniform(0, 6, (7, 2))
AXES = np.arange(9) * 0.6, np.arange(8) * 0.6
SCHEMES = {
    "grid": plan(grid(AXES), Patches(2, 1)),
    "bounded": plan(grid(AXES), Patches(2, 1, max_context=12)),
    "points": plan_points(POINTS, Patches(2, 1, max_points=12)),
    "coarse": plan(grid(AXES), Patches(2, 2, stride=2, fine_halo=1)),
    "coarse points": plan_points(POINTS, Patches(2, 2, max_points=12, stride=2)),
}


def matern(a, b):
    r = np.sqrt(3) * np.linalg.norm(a[:, None] - b[None], axis=-1)
    return (1 + r) * np.exp(-r)


@pytest.mark.filterwarnings("ignore:more than")
@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("observed", [np.zeros((0, 2)), OBSERVED], ids=["prior", "posterior"])
def test_divergence_of_two_gaussians(name, observed):
    layout = SCHEMES[name]
    m = len(observed)
    x, _, scheme = scheme_law(matern, layout, observed, np.zeros(m), NOISE)
    both = np.concatenate([observed, x])
    gram = matern(both, both) + NOISE * np.eye(len(both))
    weights = np.linalg.solve(gram[:m, :m], gram[:m, m:]).T
    exact = gram[m:, m:] - weights @ gram[:m, m:]
    # Averaged over the observations, in which both means are linear.
    means = [scheme_law(matern, layout, observed, row, NOISE)[1] for row in np.eye(m)]
    apart = np.stack(means, axis=1) - weights if m else weights
    average = exact + apart @ gram[:m, :m] @ apart.T
    trace = np.trace(np.linalg.solve(scheme, average))
    nats = trace - len(x) + np.linalg.slogdet(scheme)[1] - np.linalg.slogdet(exact)[1]
    result = scheme_kl(gn.kernels.Matern32(1.0), layout, NOISE, observed)
    assert result.total == pytest.approx(nats / 2, rel=1e-6)
    assert result.per_point == pytest.approx(result.total / layout.levels[-1].locations.size)
    assert sum(result.per_stage) == pytest.approx(result.per_point)
    assert result.total > 1e-3


def test_nothing_is_lost_where_patches_see_everything_and_follow_one_another():
    layout = plan(grid((np.arange(20) * 0.3,)), Patches(width=3, halo=100))
    assert [len(stage) for stage in layout.stages] == [1, 1]
    result = scheme_kl(gn.kernels.Matern52(1.0), layout, NOISE)
    assert abs(result.total) < 1e-9


@pytest.mark.parametrize("kind", ["points", "grid"])
def test_patches_of_periodic_inputs_see_each_other_across_the_end(kind):
    """Three inputs, of which the first has a period; so has the kernel, of a circle's chords."""
    period, radius = (4.0, 0.0, 0.0), 4 / (2 * np.pi)
    axes = (0.4 * np.arange(10), 0.5 * np.arange(3), 0.5 * np.arange(3))
    scheme, found = Patches(1.2, 0.7), []
    for periods in (period, ()):
        if kind == "grid":
            layout = plan(grid(axes, periods=periods), scheme)
        else:
            x = np.random.default_rng(3).uniform(0, (4, 1, 1), (90, 3))
            layout = plan_points(x, scheme, periods=periods)
        kernel = gn.kernels.PeriodicInputs(gn.kernels.Matern32(1.0), (4.0, None, None))
        found.append(scheme_kl(kernel, layout, NOISE).total)
        x = np.concatenate([layout.inputs(patch) for patch in layout.patches])
        angle = x[:, 0] / radius
        embedded = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), x[:, 1:]])
        assert layout.levels[0].locations.positions(x).shape[1] == (4 if periods else 3)
        if periods:
            np.testing.assert_allclose(layout.levels[0].locations.positions(x), embedded, atol=1e-9)
    assert 0 < 2 * found[0] < found[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("points", "halo", "expected"),
    [(11, 2, 0.020), (11, 6, 0.0036), (22, 2, 0.0067), (22, 6, 0.0011), (22, 11, 0.0003)],
)
def test_divergence_free_fields_of_44_by_44_points(points, halo, expected):
    """Numbers that were computed apart from this package."""
    spacing = 20 / 29
    axis = spacing * np.arange(44)
    scheme = Patches(points * spacing, (halo + 0.01) * spacing, max_context=4000)
    layout = plan(grid((axis, axis)), scheme)
    kernel = gn.kernels.DivergenceFree(np.sqrt(5).item())
    result = scheme_kl(kernel, layout, NOISE)
    assert result.per_point == pytest.approx(expected, rel=0.15)


def test_fields_too_large_for_a_matrix_are_refused():
    layout = plan(grid((np.arange(1000), np.arange(1000))), Patches(30, 10))
    with pytest.raises(ValueError, match="expected at most 30000 values"):
        scheme_kl(gn.kernels.Matern52(1.0), layout)
