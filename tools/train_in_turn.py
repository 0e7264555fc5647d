"""Train the neural processes of the comparison one after the other, as far as a time allows.

    python tools/train_in_turn.py --out runs --seconds 540
    python tools/train_in_turn.py --out runs --seconds 540 --only gnp2020/se fields --steps 5000

Every model has a process and a folder of its own, `OUT/NAME`. The same command resumes after a
stop: finished models are skipped, the last one resumes from its checkpoint.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import time
from pathlib import Path

from geomndp.experiments.neural_processes.order import TrainingRun, training_order

LEAST = 20.0
"""Seconds below which no further model is begun: it would not finish compiling."""


def chosen(only: list[str]) -> list[TrainingRun]:
    """Runs whose names contain one of the texts; all without texts."""
    runs = training_order()
    return [run for run in runs if not only or any(text in run.name for text in only)]


def command(run: TrainingRun, folder: Path, steps: int | None, dtype: str | None) -> list[str]:
    """The command that trains one model."""
    sizes = ["--steps", str(steps or run.steps), "--batch-size", str(run.batch_size)]
    precision = [] if dtype is None else ["--compute-dtype", dtype]
    start = [sys.executable, "-m", "geomndp.cli", "train", run.name, "--out", str(folder)]
    return [*start, *sizes, *precision, "--checkpoint-every", "1000", "--quiet"]


def finished(folder: Path) -> bool:
    """Whether a model is trained to its end."""
    return (folder / "model.safetensors").exists()


def train(run: TrainingRun, folder: Path, options: argparse.Namespace, left: float) -> str:
    """Train one model for at most so many seconds; what became of it, in a word."""
    folder.mkdir(parents=True, exist_ok=True)
    start = time.monotonic()
    try:
        words = command(run, folder, options.steps, options.compute_dtype)
        code = subprocess.run(words, timeout=left, check=False).returncode
    except subprocess.TimeoutExpired:
        return "stopped: the same command resumes"
    return f"{'trained' if not code else 'failed'} in {time.monotonic() - start:.0f} s"


def copy(folder: Path, target: Path) -> None:
    """Model and log of a finished run, without its checkpoints."""
    target.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.is_file() and (path.stem == "model" or path.name == "log.csv"):
            shutil.copyfile(path, target / path.name)


def main() -> int:
    """Train in turn; exit code 1 if a training failed."""
    parser = argparse.ArgumentParser(description="Train the neural processes of the comparison.")
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--seconds", type=float, required=True, help="time for all of them")
    parser.add_argument("--only", nargs="*", default=[], help="texts in the names of the models")
    parser.add_argument("--steps", type=int, help="steps of every model in place of its own")
    parser.add_argument("--compute-dtype", help="precision inside the networks")
    parser.add_argument("--copy", type=Path, help="folder for finished models")
    options, failed = parser.parse_args(), False
    end = time.monotonic() + options.seconds
    for run in chosen(options.only):
        folder, left = options.out / run.name, end - time.monotonic()
        if not finished(folder) and left > LEAST:
            outcome = train(run, folder, options, left)
            failed |= outcome.startswith("failed")
            print(f"{run.name}: {outcome}", flush=True)
        if finished(folder) and options.copy is not None:
            copy(folder, options.copy / run.name)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
