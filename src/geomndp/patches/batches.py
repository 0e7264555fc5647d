"""Which patches are drawn at once, and the few shapes to which they are padded.

A compiled program serves one shape. Patches at the borders of a field, of another colour or with
other observations in reach have other numbers of points; shapes are merged as long as the padding
costs less than a compilation. All of this follows from the layout and the observations, never from
what is done already or from who draws it: a patch is always padded in the same way, in the same
batch.
"""

from __future__ import annotations

import itertools
from collections import Counter
from typing import NamedTuple

import numpy as np

from geomndp._arrays import bucket
from geomndp.patches.context import context_size
from geomndp.patches.layout import Layout, Patch

CALL = 0.25
"""Cost of a call by itself, over that of the points that keep the device busy."""
GRAIN = 32
"""Numbers of points are padded to multiples of it, or to a bucket where that is less."""


class PatchShape(NamedTuple):
    """Context and target points of a patch, padding included, and how far they extend.

    The extent is that of the patch, with its halo where there is any context, along its longest
    coordinate: a compiled program may depend on it.
    """

    contexts: int
    targets: int
    extent: float = 0.0

    @property
    def points(self) -> int:
        """All points."""
        return self.contexts + self.targets


class PatchBatching(NamedTuple):
    """What a law says about the batches that suit it.

    Attributes:
        points: Points of all samples of a batch together that keep the device busy.
        compilation: Points of padding, over all patches and samples, that cost as much time as the
            compilation of one more program.
    """

    points: int
    compilation: int


class PatchBatch(NamedTuple):
    """Patches of one stage that are drawn at once.

    Attributes:
        patches: Their numbers.
        size: Patches of a full batch of this shape; a program has room for so many.
        shape: What each is padded to, None where it stays as it is.
    """

    patches: tuple[int, ...]
    size: int = 1
    shape: PatchShape | None = None


def plan_batches(
    layout: Layout, observed: np.ndarray, num_samples: int, batching: PatchBatching | None
) -> list[list[PatchBatch]]:
    """Batches of every stage.

    Args:
        layout: The patches.
        observed: Inputs of the observations, shape (m, d).
        num_samples: Samples of every patch.
        batching: What suits the law; None for one patch at a time, without padding.

    Returns:
        One list per stage, in the order in which stages are drawn.
    """
    if batching is None:
        return [[PatchBatch((i,)) for i in stage] for stage in layout.stages]
    padding = batching.compilation // num_samples
    real = {patch.index: _shape(layout, patch, observed) for patch in layout.patches}
    own = _bucketed(real)
    merged = _trimmed(real, own, merge_shapes(Counter(own.values()), padding))
    points = batching.points // num_samples
    stages = [_by_shape(stage, own, merged) for stage in layout.stages]
    sizes = {
        shape: _size([len(groups.get(shape, ())) for groups in stages], shape, points)
        for shape in merged.values()
    }
    return [
        [batch for item in groups.items() for batch in _cut(*item, sizes[item[0]])]
        for groups in stages
    ]


def _shape(layout: Layout, patch: Patch, observed: np.ndarray) -> PatchShape:
    contexts, (low, high) = context_size(layout, patch, observed), layout.box(patch)
    halo = 2 * layout.levels[0].halo if contexts else 0.0
    return PatchShape(contexts, len(layout.targets(patch)), float(np.max(high - low + halo)))


def _bucketed(real: dict[int, PatchShape]) -> dict[int, PatchShape]:
    """Shapes of few numbers of points, each with the extent of the widest patch that has them."""
    sizes = {i: (bucket(shape.contexts), bucket(shape.targets)) for i, shape in real.items()}
    extents: dict[tuple[int, int], float] = {}
    for i, size in sizes.items():
        extents[size] = max(extents.get(size, 0.0), real[i].extent)
    return {i: PatchShape(*size, extents[size]) for i, size in sizes.items()}


def _trimmed(
    real: dict[int, PatchShape],
    own: dict[int, PatchShape],
    merged: dict[PatchShape, PatchShape],
) -> dict[PatchShape, PatchShape]:
    """Merged shapes, no larger than the largest patch needs, up to a multiple of `GRAIN`."""
    most: dict[PatchShape, PatchShape] = {}
    for index, shape in real.items():
        group = merged[own[index]]
        most[group] = _join(most.get(group, shape), shape)
    sizes = {group: [-(-n // GRAIN) * GRAIN for n in shape[:2]] for group, shape in most.items()}
    return {
        shape: group._replace(
            contexts=min(group.contexts, sizes[group][0]),
            targets=min(group.targets, sizes[group][1]),
        )
        for shape, group in merged.items()
    }


def _by_shape(
    stage: list[int], own: dict[int, PatchShape], merged: dict[PatchShape, PatchShape]
) -> dict[PatchShape, list[int]]:
    groups: dict[PatchShape, list[int]] = {}
    for index in stage:
        groups.setdefault(merged[own[index]], []).append(index)
    return groups


def _size(counts: list[int], shape: PatchShape, points: int) -> int:
    """Patches of a batch: few batches, and few of their rows empty.

    Args:
        counts: Patches of every stage.
        shape: Their shape.
        points: Points that keep the device busy.
    """
    own = max(1, shape.points)

    def cost(size: int) -> float:
        return sum(-(-count // size) for count in counts) * (CALL * points + size * own)

    return min(range(1, min(max(1, points // own), max(counts)) + 1), key=cost)


def _cut(shape: PatchShape, group: list[int], size: int) -> list[PatchBatch]:
    starts = range(0, len(group), size)
    return [PatchBatch(tuple(group[start : start + size]), size, shape) for start in starts]


def merge_shapes(counts: Counter[PatchShape], padding: int) -> dict[PatchShape, PatchShape]:
    """Merge shapes, the cheapest first, as long as that costs little padding.

    Patches without any context, or without targets, stay apart: theirs are other programs.

    Args:
        counts: Number of patches of every shape.
        padding: Points of padding that one program less is worth.

    Returns:
        For every shape the one to which it is padded.
    """
    groups = {shape: (count, [shape]) for shape, count in counts.items()}
    while True:
        pairs = [
            (_extra(a, b, groups), a, b)
            for a, b in itertools.combinations(sorted(groups), 2)
            if [n > 0 for n in a[:2]] == [n > 0 for n in b[:2]]
        ]
        extra, a, b = min(pairs, default=(padding + 1, None, None))
        if extra > padding or a is None or b is None:
            return {member: shape for shape, (_, group) in groups.items() for member in group}
        parts = [groups.pop(shape) for shape in {a, b, _join(a, b)} if shape in groups]
        groups[_join(a, b)] = sum(n for n, _ in parts), [m for _, part in parts for m in part]


def _join(a: PatchShape, b: PatchShape) -> PatchShape:
    contexts, targets = max(a.contexts, b.contexts), max(a.targets, b.targets)
    return PatchShape(contexts, targets, max(a.extent, b.extent))


def _extra(
    a: PatchShape, b: PatchShape, groups: dict[PatchShape, tuple[int, list[PatchShape]]]
) -> int:
    """Points of padding that come with the join of two shapes."""
    both = _join(a, b).points
    return sum(groups[shape][0] * (both - shape.points) for shape in (a, b))
