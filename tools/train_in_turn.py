"""Train the neural processes of the comparison one after the other, as far as a time allows.

    python tools/train_in_turn.py --out runs --seconds 540
    python tools/train_in_turn.py --out runs --seconds 540 --only gnp2020/se fields --steps 5000
    python tools/train_in_turn.py --out runs --seconds 540 --workers 4

Every model has a process and a folder of its own, `OUT/NAME`. The same command resumes after a
stop: finished models are skipped, others resume from their checkpoints. Small networks leave a GPU
idle between their kernels and while they compile: several workers share it, which makes times per
training step longer than they are alone.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from geomndp.experiments.neural_processes.order import TrainingRun, training_order

LEAST = 20.0
"""Seconds below which no further model is begun: it would not finish compiling."""


FULL_PRECISION = ("-anp",)
"""Methods, as names end, without another precision inside."""


def chosen(only: list[str]) -> list[TrainingRun]:
    """Runs whose names contain one of the texts; all without texts."""
    runs = training_order()
    return [run for run in runs if not only or any(text in run.name for text in only)]


def command(run: TrainingRun, folder: Path, steps: int | None, dtype: str | None) -> list[str]:
    """The command that trains one model."""
    sizes = ["--steps", str(steps or run.steps), "--batch-size", str(run.batch_size)]
    inside = None if run.name.endswith(FULL_PRECISION) else dtype or run.compute_dtype
    precision = [] if inside is None else ["--compute-dtype", inside]
    start = [sys.executable, "-m", "geomndp.cli", "train", run.name, "--out", str(folder)]
    return [*start, *sizes, *precision, "--checkpoint-every", "5000", "--quiet"]


def finished(folder: Path) -> bool:
    """Whether a model is trained to its end."""
    return (folder / "model.safetensors").exists()


def environment(workers: int) -> dict[str, str]:
    """Variables of a training: one of several on a device takes memory as it needs it."""
    shared = {} if workers == 1 else {"XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    return shared | dict(os.environ)


def train(run: TrainingRun, folder: Path, options: argparse.Namespace, left: float) -> str:
    """Train one model for at most so many seconds; what became of it, in a word."""
    folder.mkdir(parents=True, exist_ok=True)
    start, variables = time.monotonic(), environment(options.workers)
    try:
        words = command(run, folder, options.steps, options.compute_dtype)
        code = subprocess.run(words, timeout=left, check=False, env=variables).returncode
    except subprocess.TimeoutExpired:
        return "stopped: the same command resumes"
    return f"{'trained' if not code else 'failed'} in {time.monotonic() - start:.0f} s"


def copy(folder: Path, target: Path) -> None:
    """Model and log of a finished run, without its checkpoints."""
    target.mkdir(parents=True, exist_ok=True)
    for path in folder.iterdir():
        if path.is_file() and (path.stem == "model" or path.name == "log.csv"):
            shutil.copyfile(path, target / path.name)


def turn(run: TrainingRun, options: argparse.Namespace, end: float) -> bool:
    """Train one model, unless it is finished or no time is left; whether that failed."""
    folder, left, failed = options.out / run.name, end - time.monotonic(), False
    if not finished(folder) and left > LEAST:
        outcome = train(run, folder, options, left)
        failed = outcome.startswith("failed")
        print(f"{run.name}: {outcome}", flush=True)
    if finished(folder) and options.copy is not None:
        copy(folder, options.copy / run.name)
    return failed


def main() -> int:
    """Train in turn; exit code 1 if a training failed."""
    parser = argparse.ArgumentParser(description="Train the neural processes of the comparison.")
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--seconds", type=float, required=True, help="time for all of them")
    parser.add_argument("--only", nargs="*", default=[], help="texts in the names of the models")
    parser.add_argument("--steps", type=int, help="steps of every model in place of its own")
    parser.add_argument("--compute-dtype", help="precision inside networks, not their own")
    parser.add_argument("--workers", type=int, default=1, help="trainings side by side")
    parser.add_argument("--copy", type=Path, help="folder for finished models")
    options = parser.parse_args()
    end = time.monotonic() + options.seconds
    with ThreadPoolExecutor(options.workers) as pool:
        failed = list(pool.map(lambda run: turn(run, options, end), chosen(options.only)))
    return int(any(failed))


if __name__ == "__main__":
    sys.exit(main())
