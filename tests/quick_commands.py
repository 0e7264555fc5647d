"""Commands of a page, run in a moment: few samples, few steps, small grids."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import pandas as pd

from geomndp import _model_files
from geomndp.cli.commands import List, Reproduce, Train
from geomndp.cli.main import COMMANDS, parse, run
from geomndp.cli.predict_args import Condition, Predict
from geomndp.model import Model, load

from .commands import Command


def run_quickly(found: list[Command], *, files_exist: bool = False) -> int:
    """Run those commands of a page that take no training, in the current folder; count them."""
    count, trained = 0, set()
    for command in found:
        if command.words[0] != "geomndp" or not command.whole or "--help" in command.words:
            continue
        read = parse(command.words[1:], COMMANDS)
        if isinstance(read, Train):
            trained.add(read.out)
        if isinstance(read, Predict) and read.name in trained:
            continue
        if isinstance(read, Condition) and not files_exist:
            write_observations(read)
        if isinstance(read, Predict):
            read = dataclasses.replace(read, num_samples=2, targets=fewer(read.targets))
            if isinstance(load(read.name), Model):
                read = dataclasses.replace(read, steps=1)
        elif isinstance(read, Reproduce):
            read = dataclasses.replace(read, figures=False)
        elif not isinstance(read, List):
            continue
        run(read)
        count += 1
        out = getattr(read, "out", None)
        assert out is None or Path(out).exists()
    return count


def fewer(at: tuple[str, ...]) -> tuple[str, ...]:
    """Grids of several inputs with three points along each."""
    return at if len(at) == 1 else tuple(re.sub(r":[^:]*$", ":3pts", span) for span in at)


def write_observations(command: Condition) -> None:
    """A file that a page speaks of without making it: a few rows of the model's columns."""
    variables = _model_files.document(_model_files.find(command.name))["variables"]
    names = [part["name"] for side in ("inputs", "outputs") for part in variables[side]]
    rows = np.arange(4.0)[:, None] + 0.1 * np.arange(len(names))
    table = pd.DataFrame(rows, columns=names)
    if command.tasks is not None:
        table = table.assign(task=[0, 0, 1, 1])
    table.to_csv(command.tasks or command.observations, index=False)
