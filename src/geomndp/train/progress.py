"""A progress bar: loss, steps per second, time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec

Update = Callable[[int, float], None]


@contextmanager
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
