"""Predictive laws in the data's units: moments and quantiles as arrays, or as tables."""

import abc
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import numpy as np

from geomndp import _validation
from geomndp._arrays import put
from geomndp._types import Array, Outputs, Scalar
from geomndp.model.inputs import Seed
from geomndp.predictive import MOMENT_SAMPLES, AbstractPredictive
from geomndp.tables import Variables, is_table, write_quantiles, write_samples, write_values

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar

Key = Seed | None


class AbstractNamedPredictive(AbstractPredictive):
    """A predictive law in the data's units that takes tables where its variables have names."""

    variables: AbstractVar[Variables | None]
    """Names and units of inputs and outputs, None where there are none."""

    def mean_and_std(self, x: Any, *, key: Key = None) -> tuple[Any, Any]:
        """Mean and standard deviation of every value; arguments as those of `mean`."""
        marginals = self.marginals(x, key=key)
        return self._written(x, marginals.mean()), self._written(x, marginals.std())

    def mean(self, x: Any, *, key: Key = None) -> Any:
        """Mean of every value, noise included.

        Args:
            x: Inputs, shape (n, d) or (n,), or a table.
            key: Random key or seed, needed where there is no closed form.

        Returns:
            Shape (n, p), or a table at the locations of a table, with the index of a DataFrame.

        Raises:
            ValueError: If a key is missing, or the values lie on a manifold: see
                `geomndp.summaries` for these.
        """
        return self._written(x, self.marginals(x, key=key).mean())

    def std(self, x: Any, *, key: Key = None) -> Any:
        """Standard deviation of every value, noise included; arguments as those of `mean`."""
        return self._written(x, self.marginals(x, key=key).std())

    def quantile(
        self, q: Any, x: Any, *, key: Key = None, num_samples: int = MOMENT_SAMPLES
    ) -> Any:
        """Quantiles of every value, noise included.

        Args:
            q: Probability level, or several; of any shape at arrays, at most (levels,) at a table.
            x: Inputs, shape (n, d) or (n,), or a table.
            key: Random key or seed, needed where there is no closed form.
            num_samples: Number of samples that stand for the law then.

        Returns:
            Shape (n, p) for one level, (levels, n, p) for several; a table at the locations of a
            table, for several levels with a dimension (a column) `quantile`.

        Raises:
            ValueError: If a key is missing, or levels of several dimensions meet a table.

        Example:
            `model.condition(table).quantile([0.05, 0.95], targets, key=0)`
        """
        if is_table(x) and np.ndim(q) > 1:
            raise ValueError(f"expected one level or a list of them, got shape {np.shape(q)}")
        values = self.marginals(x, key=key, num_samples=num_samples).quantile(q)
        if not is_table(x):
            return values
        if values.ndim == 2:
            return self._written(x, values)
        return write_quantiles(self._names(), x, q, values)

    def interval(
        self,
        x: Any,
        *,
        level: float = 0.9,
        conformal: Any = None,
        key: Key = None,
        num_samples: int = MOMENT_SAMPLES,
    ) -> Any:
        """Central interval of every value, noise included.

        Args:
            x: Inputs, shape (n, d) or (n,), or a table.
            level: Probability of the interval.
            conformal: Levels that held-out functions corrected (`gn.evaluate.conformal`, or
                `report.conformal` of a fit): the interval then covers at least `level` of the
                values of new functions, whatever the law. By default the law's own interval.
            key: Random key or seed, needed where there is no closed form.
            num_samples: Number of samples that stand for the law then.

        Returns:
            Lower and upper ends, shape (2, n, p); a table at the locations of a table, with the
            levels of the ends, 0.05 and 0.95 by default, as `quantile`.

        Raises:
            ValueError: If a key is missing, or there were too few functions for this level.

        Example:
            `low, high = model.condition(xc, yc).interval(x, conformal=report.conformal)`
        """
        if not (_validation.is_number(level) and 0 < level < 1):
            raise ValueError(f"expected 0 < level < 1, got {level}")
        tail = 1 - level if conformal is None else conformal.law_tail(level)
        ends = self.marginals(x, key=key, num_samples=num_samples).interval(tail)
        if not is_table(x):
            return ends
        return write_quantiles(self._names(), x, [(1 - level) / 2, (1 + level) / 2], ends)

    def _written(self, x: Any, values: Outputs) -> Any:
        return write_values(self._names(), x, values) if is_table(x) else values

    def _names(self) -> Variables:
        assert self.variables is not None  # or the table could not have been read
        return self.variables


class _Stored(NamedTuple):
    """An array of a pickled law, whose numbers JAX in 32 bits would round on its way back."""

    values: np.ndarray


def _as_stored(leaf: Any) -> Any:
    known = isinstance(leaf, jax.Array) and _validation.concrete(leaf)  # copies may be traced
    return _Stored(np.asarray(leaf)) if known else leaf


def _from_stored(leaf: Any) -> Any:
    return put(leaf.values) if isinstance(leaf, _Stored) else leaf


class AbstractNamedPosterior(AbstractNamedPredictive):
    """Law of functions given observations, in the data's units."""

    def __getstate__(self) -> dict[str, Any]:
        """Fields, as they are pickled and copied."""
        return {name: jax.tree.map(_as_stored, field) for name, field in vars(self).items()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Fields with arrays of JAX in the dtypes that they had."""
        with jax.enable_x64(True):
            for name, field in state.items():
                stored = {"is_leaf": lambda leaf: isinstance(leaf, _Stored)}
                object.__setattr__(self, name, jax.tree.map(_from_stored, field, **stored))

    @abc.abstractmethod
    def sample_values(self, x: Any, *, key: Seed, num_samples: int = 16, **options: Any) -> Array:
        """Draws as arrays, at the locations of a table too; arguments as those of `sample`."""

    def sample(
        self, x: Any, *, key: Seed, num_samples: int = 16, mask: Any = None, **options: Any
    ) -> Any:
        """Draw functions at x.

        Args:
            x: Inputs, shape (n, d) or (n,), or a table.
            key: Random key or seed.
            num_samples: Number s of draws.
            mask: 1 for real targets, 0 for padding, which learnt laws do not see and whose values
                mean nothing, shape (n,).
            **options: As in `Posterior.sample`: `patches`, `out` and `scheduler`, and of learnt
                laws `sampler`, `max_memory` and `progress`.

        Returns:
            Samples of shape (s, n, p), unit vectors on the sphere; a table at the locations of a
            table.

        Raises:
            ValueError: If the inputs do not fit the model.
        """
        options |= {} if mask is None else {"mask": mask}
        if (out := options.pop("out", None)) is not None:
            from geomndp.model.patch_store import sample_to_zarr

            return sample_to_zarr(self, x, out, key=key, num_samples=num_samples, **options)
        y = self.sample_values(x, key=key, num_samples=num_samples, **options)
        return write_samples(self._names(), x, y) if is_table(x) else y

    def log_prob(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, x: Any, y: Any = None, key: Key = None, mask: Any = None, **options: Any
    ) -> Scalar:
        """Log-density of y at x given the observations; arguments as those of `log_prob_info`."""
        law: Any = self
        return law.log_prob_info(x, y, key=key, mask=mask, **options).value
