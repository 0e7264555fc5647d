"""Nothing that happens to a training is lost: see kills.py, which also makes longer records."""

import functools
import random
import subprocess

import pytest

from . import kills


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Trainings by their number of steps."""
    return functools.cache(
        lambda steps: kills.Trainings(tmp_path_factory.mktemp("kills"), steps=steps)
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 10])
def test_kills_end_with_the_same_bits(number, trained, tmp_path):
    seed = random.randrange(2**31)
    print(f"seed of the kills: {seed}")
    counts = kills.random_kills(trained(max(100, 40 * number)), tmp_path / "run", number, seed)
    assert sum(counts[kind] for kind in ("start", "step", "checkpoint")) == number


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [kills.two_trainers, kills.no_long_files, kills.full_disk, kills.read_only]
)
def test_a_refusal_loses_nothing(case, trained, tmp_path):
    try:
        assert case(trained(400), tmp_path / "run")
    except subprocess.CalledProcessError:
        pytest.skip("a file system of its own needs root")
