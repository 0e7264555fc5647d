"""A large field drawn patch by patch: each given what earlier ones have drawn."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._progress import Progress, reporting
from geomndp._types import PRNGKeyArray
from geomndp.patches.context import PatchContext, context_of
from geomndp.patches.layout import Layout, Patch
from geomndp.patches.values import AbstractValues

Mapper = Callable[[Callable[[int], None], list[int]], Iterable[Any]]
"""Calls a function for every number of a list, in any order or at once, like `map`."""


class AbstractPatchLaw(abc.ABC):
    """A law of functions given observations that is conditioned further, patch by patch.

    Attributes:
        observed: Inputs of the observations in the units of the locations, shape (m, d).
    """

    observed: np.ndarray

    @abc.abstractmethod
    def draw(
        self,
        rows: np.ndarray,
        x_drawn: np.ndarray,
        y_drawn: np.ndarray,
        x: np.ndarray,
        keys: PRNGKeyArray,
    ) -> np.ndarray:
        """Draw each sample given its own values.

        Args:
            rows: Which of the observations count.
            x_drawn: Inputs of values drawn before, shape (k, d).
            y_drawn: These values, without noise of their own, shape (s, k, p).
            x: Targets, shape (n, d).
            keys: Random key of every sample, shape (s,).

        Returns:
            Values (s, n, p).
        """


@dataclasses.dataclass(frozen=True)
class PatchwiseField:
    """A joint sample of any size, drawn patch by patch.

    Attributes:
        law: What is drawn.
        layout: The patches.
        values: Where they are kept.
        key: Random key: sample i of patch b has the key folded with b, then with i.
        num_samples: Number s of draws.
    """

    law: AbstractPatchLaw
    layout: Layout
    values: AbstractValues
    key: PRNGKeyArray
    num_samples: int

    def draw(self, index: int) -> np.ndarray:
        """Draw one patch given what patches of earlier stages have written.

        Args:
            index: Number of the patch.

        Returns:
            Values (s, n, p) of all its points, those of the coarse field as they are.

        Raises:
            FloatingPointError: If a value is NaN or infinite.
        """
        patch = self.layout.patches[index]
        context = context_of(self.layout, patch, self.law.observed)
        x, targets = self.layout.inputs(patch), self.layout.targets(patch)
        drawn = self._drawn(context)
        key = jr.fold_in(self.key, index)
        keys = jax.vmap(lambda i: jr.fold_in(key, i))(jnp.arange(self.num_samples))
        y = self.law.draw(
            context.observed, context.drawn.x[context.chosen], drawn, x[targets], keys
        )
        if not np.all(np.isfinite(y)):
            raise FloatingPointError(f"the values of patch {index} became NaN or infinite")
        return y if len(targets) == len(x) else self._with_coarse(patch, targets, y)

    def draw_and_write(self, index: int) -> None:
        """Draw a patch and keep it; nothing happens where it is done."""
        patch = self.layout.patches[index]
        if not self.values.done(patch):
            self.values.write(patch, self.draw(index))

    def _drawn(self, context: PatchContext) -> np.ndarray:
        """Values (s, k, p) of the drawn points that count."""
        patches = [self.layout.patches[i] for i in context.drawn.patches]
        groups = zip(patches, context.drawn.rows, strict=True)
        parts = [self.values.read(patch)[:, rows] for patch, rows in groups]
        if not parts:
            return np.zeros((self.num_samples, 0, 0))
        return np.concatenate(parts, axis=1)[:, context.chosen]

    def _with_coarse(self, patch: Patch, targets: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Values of all points of a patch from those that it drew and those of the coarse field."""
        numbers = self.layout.coarse_numbers(patch)
        assert numbers is not None
        whole = np.empty((len(y), len(numbers), y.shape[2]), y.dtype)
        whole[:, targets] = y
        others = np.flatnonzero(numbers >= 0)
        for coarse, rows, found in self.layout.coarse_patches(numbers[others]):
            whole[:, others[found]] = self.values.read(coarse)[:, rows]
        return whole


def run(field: PatchwiseField, progress: Progress = True, mapper: Mapper | None = None) -> None:
    """Draw all patches that are not done, stage by stage.

    Args:
        field: The field.
        progress: True for a bar on a terminal, False for none, or a function that is called with
            the number of patches that are done.
        mapper: Calls a function for every patch of a stage, in any order or at once, and returns
            an iterable that ends when all have been; by default one after the other.
    """
    layout, each = field.layout, map if mapper is None else mapper
    left = {patch.index for patch in layout.patches if not field.values.done(patch)}
    done = len(layout.patches) - len(left)
    with reporting("drawing patches", len(layout.patches), progress) as report:
        report(done)
        for stage in layout.stages:
            for _ in each(field.draw_and_write, [i for i in stage if i in left]):
                done += 1
                report(done)
