"""Every model has its turn, once, and a stopped series of trainings goes on where it stopped."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from geomndp.experiments.neural_processes.experiment import MODELS
from geomndp.experiments.neural_processes.order import training_order

TOOL = runpy.run_path(str(Path(__file__).parents[3] / "tools" / "train_in_turn.py"))


def test_every_model_has_its_turn_once():
    runs = training_order()
    assert sorted(run.name for run in runs) == sorted(MODELS)
    assert runs[0].name == "neural-processes-gnp2020/se-convcnp"
    assert all(run.steps >= 10_000 and run.batch_size >= 16 for run in runs)
    halves = {run.name for run in runs if run.compute_dtype == "bfloat16"}
    assert "neural-processes-fields/se-convcnp" in halves
    assert not any("np2023" in name for name in halves)  # a sawtooth without noise


class Commands(list):
    """Commands, and the variables of their environments."""

    variables: list[dict[str, str]]


@pytest.fixture
def commands(monkeypatch, tmp_path):
    """Commands that would be run; each leaves a model, but for the third, which takes too long."""
    seen, variables = Commands(), []
    seen.variables = variables

    def run(words, timeout, check, env):
        seen.append(words)
        variables.append(env)
        if len(seen) == 3:
            raise subprocess.TimeoutExpired(words, timeout)
        folder = Path(words[words.index("--out") + 1])
        (folder / "model.safetensors").write_text("model")
        (folder / "log.csv").write_text("log")
        return subprocess.CompletedProcess(words, 0)

    monkeypatch.setattr(subprocess, "run", run)
    return seen


def call(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["train_in_turn.py", *map(str, words)])
    return TOOL["main"]()


def test_finished_models_are_skipped_and_copied(commands, monkeypatch, tmp_path, capsys):
    options = ("--out", tmp_path / "runs", "--only", "gnp2020/se-", "--copy", tmp_path / "kept")
    assert call(monkeypatch, *options, "--seconds", 1000, "--steps", 7) == 0
    names = [words[words.index("train") + 1] for words in commands]
    methods = ["convcnp", "te-tnp", "fullconvgnp", "convgnp", "convnp", "anp", "flownp"]
    assert names == [f"neural-processes-gnp2020/se-{method}" for method in methods]
    assert "fullconvgnp: stopped: the same command resumes" in capsys.readouterr().out
    assert all(words[words.index("--steps") + 1] == "7" for words in commands)
    kept = tmp_path / "kept" / "neural-processes-gnp2020"
    assert (kept / "se-convcnp" / "model.safetensors").exists()
    assert not (kept / "se-fullconvgnp").exists()
    assert call(monkeypatch, *options, "--seconds", 1000) == 0  # only the one that was stopped
    assert len(commands) == len(methods) + 1 and "se-fullconvgnp" in commands[-1][4]


def test_without_time_nothing_is_begun(commands, monkeypatch, tmp_path):
    assert call(monkeypatch, "--out", tmp_path, "--seconds", 5) == 0
    assert not commands


def test_workers_share_the_memory_of_a_device(commands, monkeypatch, tmp_path):
    monkeypatch.delenv("XLA_PYTHON_CLIENT_PREALLOCATE", raising=False)
    options = ("--seconds", 1000, "--only", "fields")
    assert call(monkeypatch, "--out", tmp_path / "several", *options, "--workers", 3) == 0
    names = [words[words.index("train") + 1] for words in commands]
    assert len(set(names)) == len(names) == 6
    assert {v["XLA_PYTHON_CLIENT_PREALLOCATE"] for v in commands.variables} == {"false"}
    assert call(monkeypatch, "--out", tmp_path / "one", *options) == 0
    assert "XLA_PYTHON_CLIENT_PREALLOCATE" not in commands.variables[-1]


def test_precision_is_that_asked_for_where_a_method_has_one(commands, monkeypatch, tmp_path):
    options = ("--only", "gnp2020/se-anp", "gnp2020/se-te-tnp", "--compute-dtype", "bfloat16")
    assert call(monkeypatch, "--out", tmp_path, "--seconds", 1000, *options) == 0
    assert ["--compute-dtype" in words for words in commands] == [True, False]  # TE-TNP, ANP
