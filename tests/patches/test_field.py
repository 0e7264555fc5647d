"""Running patches: order, keys, resuming, and the errors of laws that go wrong."""

import dataclasses
import pickle

import jax.random as jr
import numpy as np
import pytest

from geomndp.patches import AbstractPatchLaw, MemoryValues, Patches, PatchwiseField, grid, plan, run

AXES = np.arange(9) * 0.5, np.arange(8) * 0.5


class Sum(AbstractPatchLaw):
    """Noise of the key plus the mean of all that is given: depends on everything that it may."""

    observed = np.asarray([[1.0, 1.0], [3.0, 3.0]])

    def draw(self, rows, x_drawn, y_drawn, x, keys):
        noise = np.stack([np.asarray(jr.normal(key, (len(x), 1))) for key in keys])
        if not len(x_drawn):
            return noise + len(rows)
        return noise + len(rows) + y_drawn.mean(axis=1, keepdims=True)


def field(num_samples=2, **options):
    layout = plan(grid(AXES), Patches(1.5, 1, **options))
    return PatchwiseField(Sum(), layout, MemoryValues(), jr.key(0), num_samples)


def drawn(field, **options):
    run(field, progress=False, **options)
    return field.values.field(field.layout)


@pytest.mark.parametrize("options", [{}, {"stride": 2}])
def test_the_order_within_a_stage_does_not_matter_nor_what_was_done_before(options):
    whole = drawn(field(**options))
    assert whole.shape == (2, 72, 1)
    backwards = field(**options)
    reversed_map = drawn(backwards, mapper=lambda f, items: [f(i) for i in reversed(items)])
    np.testing.assert_array_equal(reversed_map, whole)
    resumed = field(**options)
    for i in resumed.layout.stages[0][::2]:
        resumed.draw_and_write(i)
    np.testing.assert_array_equal(drawn(resumed), whole)


def test_the_second_sample_does_not_depend_on_how_many_there_are():
    np.testing.assert_array_equal(drawn(field(3))[:2], drawn(field(2)))


def test_patches_have_random_numbers_of_their_own():
    whole = drawn(field(1))[0, :, 0]
    assert len(np.unique(whole)) == 72


def test_progress_counts_patches_with_those_that_were_done():
    counts, again = [], field()
    again.draw_and_write(again.layout.stages[0][0])
    run(again, progress=counts.append)
    assert counts[0] == 1 and counts[-1] == len(again.layout.patches)
    assert counts == sorted(counts)


def test_a_value_that_is_not_finite_is_an_error():
    class Broken(Sum):
        def draw(self, *args):
            return np.full_like(super().draw(*args), np.nan)

    broken = dataclasses.replace(field(), law=Broken())
    with pytest.raises(FloatingPointError, match="patch 0 became NaN"):
        broken.draw(0)


def test_coarse_values_are_part_of_the_field_as_they_were_drawn():
    fine = field(stride=2)
    whole = drawn(fine).reshape(2, 9, 8)
    coarse = [patch for patch in fine.layout.patches if patch.level == 0]
    for patch in coarse:
        part = whole[(slice(None), *(slice(2 * s.start, 2 * s.stop, 2) for s in patch.slices))]
        np.testing.assert_array_equal(part.reshape(2, -1), fine.values.read(patch)[:, :, 0])


def test_values_in_memory_are_not_sent_to_other_processes():
    with pytest.raises(ValueError, match=r"expected a store \(out=...\)"):
        pickle.dumps(MemoryValues())
