"""The pooled likelihood against that of the process it stands for."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal

from geomndp.baselines.gaussian.designs import designs, subsets
from geomndp.baselines.gaussian.functions import Curve
from geomndp.baselines.gaussian.held_out import moments
from geomndp.baselines.gaussian.hyperparameters import KernelSum, noise_variances, to_kernel
from geomndp.baselines.gaussian.likelihood import Hyperparameters, pooled_nats
from geomndp.gp import GP
from geomndp.kernels import Modulated

GROUPS, PERIOD = ((0, 2), (1,)), (None, 0.7, None)


def parameters(rng) -> Hyperparameters:
    return Hyperparameters(
        rng.normal(size=(2, 2)) * 0.3,
        np.tril(rng.normal(size=(2, 2, 2))) * 0.3,
        np.tril(rng.normal(size=(2, 2))) * 0.3,
        rng.normal(size=2) - 2,
    )


def curves(rng, *, common: bool) -> list[Curve]:
    """Three functions of three inputs with two outputs, some of them missing."""
    first = rng.normal(size=(4, 3))
    result = []
    for number in (4, 4, 4) if common else (4, 3, 4):
        y = rng.normal(size=(number, 2))
        y[0, 1] = np.nan
        result.append(Curve(first if common else rng.normal(size=(number, 3)), y))
    return result


def swell(x):
    return 1.0 + 0.1 * x[:, :2] ** 2


@pytest.mark.parametrize("common", [False, True], ids=["own inputs", "common inputs"])
def test_nats_are_those_of_the_process(common):
    rng = np.random.default_rng(1)
    held, values, unit = curves(rng, common=common), parameters(rng), np.asarray([2.0, 0.5])
    kernel = KernelSum.parse("M52+SE")
    process = GP(
        Modulated(to_kernel(values, kernel, GROUPS, PERIOD, np.ones(2)), swell),
        noise=noise_variances(values, np.ones(2)),
    )
    arrays = designs(held, GROUPS, PERIOD, amplitude=lambda x: np.asarray(swell(x)))
    assert len(arrays.number) == (1 if common else 3)
    found, slope = pooled_nats(values, kernel.kinds, kernel.active, arrays)
    assert slope is None
    expected = 0.0
    for x, y in held:
        real = np.isfinite(y).reshape(-1)
        covariance = moments(process, x)[1][np.ix_(real, real)]
        law = multivariate_normal(np.zeros(real.sum()), covariance)
        expected += law.logpdf(y.reshape(-1)[real])
    number = sum(np.isfinite(y).sum() for _, y in held)
    assert_allclose(found, expected / number, rtol=1e-6)
    scaled = GP(to_kernel(values, kernel, GROUPS, PERIOD, unit))
    plain = GP(to_kernel(values, kernel, GROUPS, PERIOD, np.ones(2)))
    x, ratio = held[0].x, np.outer(np.tile(unit, 4), np.tile(unit, 4))
    assert_allclose(moments(scaled, x)[1], moments(plain, x)[1] * ratio, rtol=1e-10)


def test_slope_is_that_of_finite_differences():
    rng = np.random.default_rng(2)
    held, values = curves(rng, common=False), parameters(rng)
    arrays, kernel = designs(held, GROUPS, None), KernelSum.parse("SE+M32")

    def at(shift: float, directions) -> float:
        moved = Hyperparameters(*(v + shift * d for v, d in zip(values, directions, strict=True)))
        return pooled_nats(moved, kernel.kinds, kernel.active, arrays)[0]

    directions = parameters(rng)
    _, slope = pooled_nats(values, kernel.kinds, kernel.active, arrays, slope=True)
    assert slope is not None
    found = sum(np.sum(s * d) for s, d in zip(slope, directions, strict=True))
    assert_allclose(found, (at(1e-5, directions) - at(-1e-5, directions)) / 2e-5, rtol=1e-5)
    alone, _ = pooled_nats(values, (0, 0), (1.0, 0.0), arrays)
    again, _ = pooled_nats(values, (0, 3), (1.0, 0.0), arrays)
    assert alone == again  # an inactive kernel changes nothing


def test_subsets_are_common_where_the_inputs_are():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(20, 1))
    held = [Curve(x, rng.normal(size=(20, 1))) for _ in range(3)]
    found = subsets(held, 5, seed=0)
    assert {len(curve.x) for curve in found} == {10}
    assert all(np.array_equal(curve.x, found[0].x) for curve in found)
    apart = [Curve(x + i, curve.y) for i, curve in enumerate(held)]
    assert {len(curve.x) for curve in subsets(apart, 5, seed=0)} == {5}


def test_names_of_kernels():
    assert KernelSum.parse("SE") == KernelSum((0,))
    assert KernelSum.parse("M52+M12") == KernelSum((3, 1))
    for wrong in ("", "SE+M32+M12", "RBF"):
        with pytest.raises(ValueError, match="expected one or two of SE, M12, M32, M52"):
            KernelSum.parse(wrong)
