"""Batches of patches: every patch once, padded to few shapes, whatever is done already."""

from collections import Counter

import numpy as np
import pytest

from geomndp.patches import Patches, grid, plan, plan_points
from geomndp.patches.batches import (
    PatchBatch,
    PatchBatching,
    PatchShape,
    merge_shapes,
    plan_batches,
)
from geomndp.patches.context import context_of

AXIS = np.arange(40) * 0.5
OBSERVED = np.random.default_rng(0).uniform(0, 6, (30, 2))
LAYOUTS = {
    "grid": plan(grid((AXIS, AXIS)), Patches(3, 1.5)),
    "points": plan_points(np.random.default_rng(1).uniform(0, 10, (400, 2)), Patches(3, 1.5)),
    "coarse": plan(grid((AXIS, AXIS)), Patches(3, 1.5, stride=2)),
}


@pytest.mark.parametrize("name", LAYOUTS)
@pytest.mark.parametrize("batching", [None, PatchBatching(500, 0), PatchBatching(500, 10**6)])
def test_every_patch_once_in_its_stage_and_within_its_shape(name, batching):
    layout = LAYOUTS[name]
    stages = plan_batches(layout, OBSERVED, 2, batching)
    assert [sorted(i for b in stage for i in b.patches) for stage in stages] == layout.stages
    for batch in (batch for stage in stages for batch in stage):
        assert 1 <= len(batch.patches) <= batch.size
        if batch.shape is None:
            continue
        assert batch.size == 1 or batch.size * batch.shape.points * 2 <= 500
        for patch in (layout.patches[i] for i in batch.patches):
            context = context_of(layout, patch, OBSERVED)
            seen = len(context.observed) + len(context.chosen)
            assert seen <= batch.shape.contexts and (seen > 0) == (batch.shape.contexts > 0)
            assert len(layout.targets(patch)) <= batch.shape.targets


def test_a_field_takes_one_program_where_compilations_are_dear():
    layout, nothing = LAYOUTS["grid"], np.zeros((0, 2))
    stages = plan_batches(layout, nothing, 1, PatchBatching(500, 10**6))
    programs = {(b.shape, b.size) for stage in stages for b in stage}
    assert len(programs) == 2  # those without any context, and all others
    many = plan_batches(layout, nothing, 1, PatchBatching(500, 0))
    assert len({b.shape for stage in many for b in stage}) > 4


def test_shapes_are_merged_where_that_pads_little():
    counts = Counter(
        {PatchShape(0, 8): 50, PatchShape(64, 8): 100, PatchShape(48, 8): 2, PatchShape(8, 8): 90}
    )
    merged = merge_shapes(counts, 40)
    assert merged == {s: PatchShape(64, 8) if s == PatchShape(48, 8) else s for s in counts}
    everything = merge_shapes(counts, 10**6)
    assert set(everything.values()) == {PatchShape(0, 8), PatchShape(64, 8)}
    crossing = Counter({PatchShape(8, 1): 1, PatchShape(1, 8): 1, PatchShape(8, 8): 1})
    assert set(merge_shapes(crossing, 100).values()) == {PatchShape(8, 8)}
    extents = Counter({PatchShape(8, 8, 2.0): 1, PatchShape(4, 8, 3.0): 1})
    assert set(merge_shapes(extents, 100).values()) == {PatchShape(8, 8, 3.0)}


def test_laws_without_batches_draw_patch_by_patch():
    stages = plan_batches(LAYOUTS["grid"], OBSERVED, 1, None)
    assert stages[0][0] == PatchBatch((LAYOUTS["grid"].stages[0][0],), 1, None)


def test_extents_alone_make_no_further_shapes():
    """Scattered patches differ in them: thousands of shapes would take minutes to merge."""
    stages = plan_batches(LAYOUTS["points"], OBSERVED, 1, PatchBatching(500, 0))
    shapes = {batch.shape for stage in stages for batch in stage if batch.shape is not None}
    assert len(shapes) == len({shape[:2] for shape in shapes}) > 4
    layout, widest = LAYOUTS["points"], max(shape.extent for shape in shapes)
    low, high = layout.levels[0].boxes
    assert widest == pytest.approx(np.max(high - low) + 2 * 1.5)
