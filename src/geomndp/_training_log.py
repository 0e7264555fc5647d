"""Records of a training run: what it saw; a log that survives a killed process; a progress bar."""

from __future__ import annotations

import contextlib
import csv
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import equinox as eqx
import numpy as np

from geomndp import _atomic_io

COLUMNS = ("step", "loss", "gradient_norm", "seconds")
LogRow = tuple[int, float, float, float]
Update = Callable[[int, float], None]
Range = tuple[float, float]


class TrainingSupport(eqx.Module):
    """What a model saw in training; the data's units unless said otherwise.

    Attributes:
        inputs: Range of each input.
        outputs: Range of each output.
        extents: Largest range of each input within one function.
        spacing: Smallest of the functions' median distances between a point and its nearest
            neighbour, in the model's units; zero where no function has two points.
        points: Largest number of points of a function.
        contexts: Largest number of context points of a function.
        noise: Range of the variance of observation noise, beside noise-free observations; None if
            the model was not trained with contexts.
        max_spacing: Largest of the functions' median distances, as `spacing`; None where it was not
            recorded.
        crowding: Smallest radius about a point that holds 15 others, among all functions, in the
            model's units; None where no function has as many, or it was not recorded.
    """

    inputs: tuple[Range, ...] = eqx.field(static=True)
    outputs: tuple[Range, ...] = eqx.field(static=True)
    extents: tuple[float, ...] = eqx.field(static=True)
    spacing: float = eqx.field(static=True)
    points: int = eqx.field(static=True)
    contexts: int = eqx.field(static=True)
    noise: Range | None = eqx.field(default=None, static=True)
    max_spacing: float | None = eqx.field(default=None, static=True)
    crowding: float | None = eqx.field(default=None, static=True)

    def __check_init__(self) -> None:
        ranges = (*self.inputs, *self.outputs, *(() if self.noise is None else (self.noise,)))
        if any(low > high for low, high in ranges) or min(self.extents, default=0.0) < 0:
            raise ValueError("expected ranges from low to high, got others")
        if len(self.extents) != len(self.inputs):
            got = f"{len(self.inputs)} and {len(self.extents)}"
            raise ValueError(f"expected as many extents as inputs, got {got}")
        if self.noise is not None and self.noise[0] < 0:
            raise ValueError(f"expected noise >= 0, got {self.noise}")
        if self.spacing < 0 or self.points < 1 or self.contexts < 0:
            raise ValueError("expected spacing >= 0, points >= 1 and contexts >= 0, got others")
        if self.max_spacing is not None and self.max_spacing < self.spacing:
            raise ValueError(f"expected max_spacing >= {self.spacing}, got {self.max_spacing}")
        if self.crowding is not None and self.crowding < 0:
            raise ValueError(f"expected crowding >= 0, got {self.crowding}")


class History(NamedTuple):
    """History of a training run: means over chunks of steps.

    Attributes:
        steps: Last step of every chunk.
        loss: Mean loss of the chunk.
        gradient_norm: Mean norm of the gradient.
        seconds: Seconds of training until the end of the chunk.
    """

    steps: np.ndarray
    loss: np.ndarray
    gradient_norm: np.ndarray
    seconds: np.ndarray

    def step_seconds(self) -> float | None:
        """Median time of a step, without the first chunk, which compiles; None of one chunk."""
        chunks = np.diff(self.seconds) / np.diff(self.steps)
        return float(np.median(chunks)) if len(chunks) else None


class Log:
    """Rows of a run, kept in memory and, with a path, appended to a file at once."""

    def __init__(self, path: Path | None, *, upto: int = 0, write: bool = True):
        """Open a log, keeping the rows of an earlier part of the run.

        Lines that are no rows are skipped with a warning; the damaged file is kept beside.

        Args:
            path: A CSV file; None keeps rows in memory only.
            upto: Last step whose row is kept; later rows are dropped.
            write: Whether this process writes the file.
        """
        self._rows, self._path, self._file = [], path, None
        if path is None:
            return
        rows, bad = _read(path)
        self._rows = [rows[step] for step in sorted(rows) if step <= upto]
        if not write:
            return
        if bad:
            copy = path.with_name("log.damaged.csv")
            _atomic_io.write(copy, path.read_bytes())
            warnings.warn(
                f"skipped {bad} lines of {path} that are no rows of a log; it is kept as {copy}",
                stacklevel=2,
            )
        with (
            _atomic_io.replacing(path) as part,
            part.open("w", newline="", encoding="utf-8") as file,
        ):
            csv.writer(file).writerows([COLUMNS, *self._rows])
        self._file = path.open("a", newline="", encoding="utf-8")

    @property
    def seconds(self) -> float:
        """Seconds of training so far, earlier parts of the run included."""
        return self._rows[-1][3] if self._rows else 0.0

    def append(self, step: int, loss: float, gradient_norm: float, seconds: float) -> None:
        """Add a row.

        Args:
            step: Last step of a chunk.
            loss: Mean loss of the chunk.
            gradient_norm: Mean norm of the gradient.
            seconds: Seconds of training so far.

        Raises:
            OSError: If the file cannot be written.
        """
        row = (step, loss, gradient_norm, seconds)
        self._rows.append(row)
        if self._file is not None:
            try:
                csv.writer(self._file).writerow(row)
                self._file.flush()
            except OSError as error:
                raise OSError(f"expected to write {self._path}, got: {error.strerror}") from error

    def history(self) -> History:
        """All rows as arrays.

        Returns:
            The history.
        """
        columns = zip(*self._rows, strict=True) if self._rows else [()] * len(COLUMNS)
        steps, *rest = (np.asarray(column) for column in columns)
        return History(steps.astype(int), *(column.astype(float) for column in rest))

    def close(self) -> None:
        """Close the file; all rows that could be written are."""
        if self._file is not None:
            with contextlib.suppress(OSError):
                self._file.close()


def _read(path: Path) -> tuple[dict[int, LogRow], int]:
    """Rows of a file by their steps, and the number of lines that are none.

    A last line cut short by a kill is no row, and no surprise either.
    """
    if not path.is_file():
        return {}, 0
    text = path.read_text(encoding="utf-8", errors="replace")
    lines = text[: text.rfind("\n") + 1].split("\n")[:-1]
    rows = [_row(line) for line in lines if line.strip() != ",".join(COLUMNS)]
    return {row[0]: row for row in rows if row is not None}, rows.count(None)


def _row(line: str) -> LogRow | None:
    """Numbers of a line; None if it holds anything else."""
    try:
        step, *values = line.split(",")
        loss, norm, seconds = map(float, values)
        row = int(step), loss, norm, seconds
    except ValueError:
        return None
    return row if 0 < row[0] < 2**63 and np.all(np.isfinite(row[1:])) else None


@contextlib.contextmanager
def progress(total: int, done: int, *, quiet: bool = False) -> Iterator[Update]:
    """Show a progress bar; nothing without the package rich.

    Args:
        total: Number of steps.
        done: Steps that are done already.
        quiet: Whether to show nothing.

    Yields:
        `update(step, loss)`.
    """
    if quiet or find_spec("rich") is None:
        yield lambda step, loss: None
        return
    from rich import progress as rich

    class Speed(rich.ProgressColumn):
        """Steps per second since this process began to train."""

        def render(self, task: rich.Task):
            return f"{(task.completed - done) / max(task.elapsed or 0.0, 1e-9):.4g} steps/s"

    with rich.Progress(
        rich.TextColumn("training"),
        rich.BarColumn(),
        rich.MofNCompleteColumn(),
        rich.TextColumn("loss {task.fields[loss]:.4f}"),
        Speed(),
        rich.TimeRemainingColumn(),
    ) as bar:
        task = bar.add_task("training", total=total, completed=done, loss=float("nan"))
        yield lambda step, loss: bar.update(task, completed=step, loss=loss)
