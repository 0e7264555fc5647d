"""Nothing that happens to a training is lost: see kills.py, which also makes longer records."""

import random
import subprocess

import pytest

from . import kills


@pytest.fixture(scope="module")
def trainings(tmp_path_factory):
    return kills.Trainings(tmp_path_factory.mktemp("kills"), steps=400)


@pytest.mark.parametrize("number", [1, pytest.param(10, marks=pytest.mark.slow)])
def test_kills_end_with_the_same_bits(number, trainings, tmp_path):
    seed = random.randrange(2**31)
    print(f"seed of the kills: {seed}")
    counts = kills.random_kills(trainings, tmp_path / "run", number, seed)
    assert sum(counts[kind] for kind in ("start", "step", "checkpoint")) == number


@pytest.mark.slow
@pytest.mark.parametrize(
    "case", [kills.two_trainers, kills.no_long_files, kills.full_disk, kills.read_only]
)
def test_a_refusal_loses_nothing(case, trainings, tmp_path):
    try:
        assert case(trainings, tmp_path / "run")
    except subprocess.CalledProcessError:
        pytest.skip("a file system of its own needs root")
