"""Masks per point and group of outputs: Gram operators against rows of dense matrices."""

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from geomndp import linalg
from geomndp.kernels import Diagonal, SquaredExponential, White

from .cases import inputs, normal

GROUPS = jnp.asarray([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 1.0]])


@pytest.mark.parametrize("kernel", [White(0.7), SquaredExponential(0.5)], ids=["white", "shared"])
def test_missing_outputs_are_deleted_rows_of_the_dense_matrix(kernel, getkey):
    gram = Diagonal(kernel, 2).gram(inputs(len(GROUPS), key=getkey(), dtype=jnp.float64))
    v, factor, noise = (jnp.abs(normal(*GROUPS.shape, key=getkey())) + 0.1 for _ in range(3))
    changed = gram.scale(factor).add_diagonal(noise)
    dense, a = np.asarray(gram.dense()), np.asarray(factor).reshape(-1)
    expected = a[:, None] * dense * a + np.diag(np.asarray(noise).reshape(-1))
    assert_allclose(changed.dense(), expected, rtol=1e-12)
    kept = np.asarray(GROUPS).reshape(-1) > 0
    rows, values = expected[kept][:, kept], np.asarray(v).reshape(-1)[kept]
    law = scipy.stats.multivariate_normal(cov=rows)
    assert_allclose(changed.log_density(v, GROUPS), law.logpdf(values), rtol=1e-8)
    masked = changed.masked(GROUPS)
    assert_allclose(masked.solve(v).reshape(-1)[kept], np.linalg.solve(rows, values), rtol=1e-8)
    wild = jnp.where(GROUPS > 0, v, jnp.nan)
    assert changed.log_density(wild, GROUPS) == changed.log_density(v, GROUPS)


def test_groups_of_outputs_stand_for_all_of_them():
    mask = jnp.asarray([[1.0, 0.0], [0.0, 1.0]])
    spread = linalg.columns(mask, 4)
    assert_allclose(spread, [[1, 1, 0, 0], [0, 0, 1, 1]])
    assert linalg.columns(mask[:, 0], 4).shape == (2, 1)
    assert_allclose(linalg.row_mask(GROUPS), [1, 0, 1, 1, 1])
    joined = linalg.join_masks(None, GROUPS, 2, 5, GROUPS.dtype)
    assert_allclose(joined, np.concatenate([np.ones((2, 2)), GROUPS]))
    with pytest.raises(ValueError, match="groups of one size of 3 outputs, got 2"):
        linalg.columns(mask, 3)
