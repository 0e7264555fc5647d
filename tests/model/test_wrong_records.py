"""Records of training that cannot be."""

import dataclasses

import pytest

from geomndp.model import TrainingSupport

SUPPORT = TrainingSupport(((0.0, 10.0),), ((-1.0, 3.0),), (10.0,), 0.1, 20, 10, (1e-3, 1.0))
WRONG = [
    {"inputs": ((1.0, 0.0),)},
    {"noise": (1.0, 0.0)},
    {"noise": (-1.0, 0.0)},
    {"extents": (1.0, 1.0)},
    {"extents": (-1.0,)},
    {"spacing": -1.0},
    {"max_spacing": 0.05},
    {"points": 0},
    {"contexts": -1},
]


@pytest.mark.parametrize("changes", WRONG, ids=str)
def test_wrong_records_are_refused(changes):
    with pytest.raises(ValueError, match="expected"):
        dataclasses.replace(SUPPORT, **changes)
