"""A large field drawn patch by patch: each given what earlier ones have drawn."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp._progress import Progress, reporting
from geomndp._types import PRNGKeyArray
from geomndp.patches.batches import PatchBatch, PatchBatching, plan_batches
from geomndp.patches.context import PatchContext, context_of
from geomndp.patches.layout import Layout, Patch
from geomndp.patches.values import AbstractValues

Mapper = Callable[[Callable[[PatchBatch], PatchBatch], list[PatchBatch]], Iterable[Any]]
"""Calls a function for every batch of a list, in any order or at once, like `map`."""


class PatchRequest(NamedTuple):
    """What one patch is drawn from: the arguments of `AbstractPatchLaw.draw`."""

    rows: np.ndarray
    x_drawn: np.ndarray
    y_drawn: np.ndarray
    x: np.ndarray
    keys: PRNGKeyArray


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

    def batching(self) -> PatchBatching | None:
        """Which batches suit this law; None where it draws one patch at a time."""
        return None

    def draw_batch(self, requests: list[PatchRequest], batch: PatchBatch) -> list[np.ndarray]:
        """Draw independent patches; what `draw` gives for each, to rounding.

        Args:
            requests: One per patch of the batch.
            batch: How many they may be, and the shape to which they are padded.
        """
        return [self.draw(*request) for request in requests]


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
        request = self.request(index)
        return self._checked(index, self.law.draw(*request))

    def request(self, index: int) -> PatchRequest:
        """What a patch is drawn from, given what patches of earlier stages have written."""
        patch = self.layout.patches[index]
        context = context_of(self.layout, patch, self.law.observed)
        x = self.layout.inputs(patch)[self.layout.targets(patch)]
        key = jr.fold_in(self.key, index)
        keys = jax.vmap(lambda i: jr.fold_in(key, i))(jnp.arange(self.num_samples))
        x_drawn = context.drawn.x[context.chosen]
        return PatchRequest(context.observed, x_drawn, self._drawn(context), x, keys)

    def batches(self) -> list[list[PatchBatch]]:
        """Batches of every stage; they do not depend on which patches are done."""
        options = self.num_samples, self.law.batching()
        return plan_batches(self.layout, self.law.observed, *options)

    def draw_and_write(self, index: int) -> None:
        """Draw a patch and keep it; nothing happens where it is done."""
        self.write_batch(PatchBatch((index,)))

    def write_batch(self, batch: PatchBatch) -> PatchBatch:
        """Draw a batch and keep what is missing of it; nothing happens where all of it is done.

        All of it is drawn again where some is missing: its values are then those of a batch that
        was never stopped, to the bit.

        Args:
            batch: Patches of one stage.

        Returns:
            The batch.

        Raises:
            FloatingPointError: If a value is NaN or infinite.
        """
        patches = [self.layout.patches[i] for i in batch.patches]
        left = [patch for patch in patches if not self.values.done(patch)]
        if left:
            requests = [self.request(i) for i in batch.patches]
            drawn = self.law.draw_batch(requests, batch)
            for patch, y in zip(patches, drawn, strict=True):
                if patch in left:
                    self.values.write(patch, self._checked(patch.index, y))
        return batch

    def _checked(self, index: int, y: np.ndarray) -> np.ndarray:
        """Values of all points of a patch, those of the coarse field as they are."""
        patch = self.layout.patches[index]
        targets = self.layout.targets(patch)
        if not np.all(np.isfinite(y)):
            raise FloatingPointError(f"the values of patch {index} became NaN or infinite")
        numbers = self.layout.coarse_numbers(patch)
        whole = numbers is None or len(targets) == len(numbers)
        return y if whole else self._with_coarse(patch, targets, y)

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
        mapper: Calls a function for every batch of a stage, in any order or at once, and returns
            an iterable of its results; by default one after the other.
    """
    layout, each = field.layout, map if mapper is None else mapper
    left = {patch.index for patch in layout.patches if not field.values.done(patch)}
    done = len(layout.patches) - len(left)
    with reporting("drawing patches", len(layout.patches), progress) as report:
        report(done)
        if not left:
            return
        for stage in field.batches():
            for batch in each(field.write_batch, [b for b in stage if left & {*b.patches}]):
                done += len(left & {*batch.patches})
                report(done)
