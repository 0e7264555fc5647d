"""What can happen to a training: kills, a second trainer, a full disk, a folder that is read-only.

Every case ends with the run resumed and compared, bit by bit, with one that nothing happened to.

    python -m tests.train.kills --kills 50
"""

from __future__ import annotations

import argparse
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from .disks import fill, small_disk

WORKER = Path(__file__).with_name("worker.py")
SOURCE = Path(__file__).parents[2] / "src"
QUICK = "--xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level=0"
QUICK += " --xla_cpu_use_fusion_emitters=false"
STARTING = 8.0  # seconds, about, until a process trains
PARTIAL = ".orbax-checkpoint-tmp"


class Trainings:
    """Trainings of one network in processes of their own, all with the same number of steps."""

    def __init__(self, room: Path, steps: int):
        """Train once undisturbed; compiled programs are kept for all that follow."""
        self.room, self.steps = room, steps
        self.result = room / "result.npz"
        started = time.monotonic()
        done = self.start(None)
        output, _ = done.communicate()
        assert done.returncode == 0, output
        self.seconds = time.monotonic() - started
        self.whole = dict(np.load(self.result))

    def start(self, folder: Path | None, *words: str) -> subprocess.Popen:
        """Begin, or resume, in a folder."""
        self.result.unlink(missing_ok=True)
        given = [] if folder is None else ["--folder", str(folder)]
        command = [sys.executable, str(WORKER), str(self.result), "--steps", str(self.steps)]
        cache = {"JAX_COMPILATION_CACHE_DIR": str(self.room / "cache")}
        cache |= {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        flags = {"XLA_FLAGS": QUICK, "JAX_PLATFORMS": "cpu"}
        return subprocess.Popen(
            [*command, *given, *words],
            env={**os.environ, **cache, **flags, "PYTHONPATH": str(SOURCE)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def begin(self, folder: Path, rows: int = 4) -> None:
        """Train until the log has so many rows, and kill."""
        worker = self.start(folder)
        until(lambda: logged(folder) >= rows, worker)
        kill(worker)

    def refused(self, folder: Path, *said: str, words: tuple[str, ...] = ()) -> str:
        """Start what must fail with one sentence that says all of it; return the sentence."""
        worker = self.start(folder, *words)
        output, _ = worker.communicate(timeout=300)
        lines = [line for line in output.splitlines() if line.startswith("refused: ")]
        assert worker.returncode == 1 and len(lines) == 1, output
        assert all(part in lines[0] for part in said), lines[0]
        assert "Traceback" not in output and not self.result.exists(), output
        return lines[0].removeprefix("refused: ")

    def finish(self, folder: Path, *, log: bool = True) -> None:
        """Resume to the end and compare with the undisturbed training."""
        output, _ = (worker := self.start(folder)).communicate(timeout=600)
        assert worker.returncode == 0, output
        self.compare(folder, log=log)

    def compare(self, folder: Path, *, log: bool = True) -> None:
        """Parameters, losses, log and model file are those of the undisturbed training."""
        import jax

        from geomndp import load

        jax.config.update("jax_enable_x64", True)
        found = np.load(self.result)
        for name in ("params", "loss", "steps") if log else ("params",):
            assert np.array_equal(found[name], self.whole[name]), name
        rows = np.loadtxt(folder / "log.csv", delimiter=",", skiprows=1)
        assert np.array_equal(rows[:, 0], found["steps"])
        kept = [np.asarray(leaf).ravel() for leaf in jax.tree.leaves(load(folder).score)]
        assert np.array_equal(np.concatenate(kept), found["params"])
        left = sorted(path.name for path in (folder / "checkpoints").iterdir())
        assert left == sorted(str(self.steps - 10 * i) for i in range(3)), left


def logged(folder: Path) -> int:
    """Rows of the log."""
    log = folder / "log.csv"
    return max(log.read_bytes().count(b"\n") - 1, 0) if log.exists() else 0


def writing(folder: Path) -> bool:
    """Whether there is a checkpoint that is not finished."""
    try:
        return any(PARTIAL in name for name in os.listdir(folder / "checkpoints"))
    except OSError:
        return False


def until(reached: Callable[[], bool], worker: subprocess.Popen, every: float = 0.005) -> None:
    """Wait; the worker must not end meanwhile."""
    while not reached():
        if worker.poll() is not None:
            raise AssertionError(f"ended too early: {worker.communicate()[0]}")
        time.sleep(every)


def kill(worker: subprocess.Popen) -> None:
    assert worker.poll() is None, "finished before it was killed"
    worker.send_signal(signal.SIGKILL)
    worker.communicate()


def random_kills(trainings: Trainings, folder: Path, kills: int, seed: int) -> Counter:
    """Kill one training at random moments; return how many were of which kind."""
    moments, counts = random.Random(seed), Counter()
    for _ in range(kills):
        kind = moments.choices(["start", "step", "checkpoint"], [1, 2, 2])[0]
        goal = logged(folder) + moments.randint(1, 5)
        worker = trainings.start(folder)
        patience = STARTING * moments.random() if kind == "start" else math.inf
        late = time.monotonic() + patience
        until(
            lambda goal=goal, late=late: logged(folder) >= goal or time.monotonic() > late, worker
        )
        if kind == "checkpoint":
            until(lambda: writing(folder), worker, every=0.0005)
        time.sleep(0.02 * moments.random())
        kill(worker)
        counts[kind] += 1
        counts["left a half-written checkpoint"] += writing(folder)
    trainings.finish(folder)
    return counts


def two_trainers(trainings: Trainings, folder: Path) -> str:
    """Others start while one trains, and when it was killed and another took its place."""
    said = ""
    for last in (False, True):
        worker = trainings.start(folder)
        begun = logged(folder)
        until(lambda begun=begun: logged(folder) > begun, worker)
        worker.send_signal(signal.SIGSTOP)  # or it would be done before the other is there
        try:
            said = trainings.refused(folder, f"held by process {worker.pid} on ")
        finally:
            worker.send_signal(signal.SIGCONT)
        if not last:
            kill(worker)
    output, _ = worker.communicate(timeout=600)
    assert worker.returncode == 0, output
    trainings.compare(folder)
    return said


def no_long_files(trainings: Trainings, folder: Path) -> str:
    """Files cannot grow: checkpoints cannot be written."""
    trainings.begin(folder)
    said = ("expected to write a checkpoint of step", "the last good checkpoint is step")
    said = trainings.refused(folder, *said, words=("--longest-file", str(2**17)))
    trainings.finish(folder)
    return said


def full_disk(trainings: Trainings, disk: Path) -> str:
    """The disk becomes full while a training runs; later there is room again."""
    with small_disk(disk):
        folder, ballast = disk / "run", disk / "ballast"
        worker = trainings.start(folder)
        until(lambda: logged(folder) >= 4, worker)
        with ballast.open("wb", buffering=0) as file:
            fill(file)
        output, _ = worker.communicate(timeout=300)
        assert worker.returncode == 1 and "No space left on device" in output, output
        assert "the last good checkpoint is step" in output, output
        trainings.refused(folder, "No space left on device")
        ballast.unlink()
        trainings.finish(folder)
    return output.splitlines()[-1].removeprefix("refused: ")


def read_only(trainings: Trainings, disk: Path) -> str:
    """The file system is read-only when a training is resumed; later it can be written again."""
    with small_disk(disk):
        folder = disk / "run"
        trainings.begin(folder)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        said = trainings.refused(folder, "expected to train in", "Read-only file system")
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        trainings.finish(folder)
    return said


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sys.path.insert(0, str(SOURCE))
    with tempfile.TemporaryDirectory() as temporary:
        room = Path(temporary)
        trainings = Trainings(room, steps=40 * options.kills)
        print(f"undisturbed: {trainings.steps} steps in {trainings.seconds:.0f} s", flush=True)
        started = time.monotonic()
        counts = random_kills(trainings, room / "killed", options.kills, options.seed)
        seconds = time.monotonic() - started
        print(f"{options.kills} kills {dict(counts)}: same bits, {seconds:.0f} s", flush=True)
        few = Trainings(room, steps=100)
        for case in (two_trainers, no_long_files, full_disk, read_only):
            try:
                outcome = f"same bits; it said: {case(few, room / case.__name__)}"
            except subprocess.CalledProcessError:
                outcome = "not run: a file system of its own needs root"
            print(f"{case.__name__}: {outcome}", flush=True)


if __name__ == "__main__":
    main()
