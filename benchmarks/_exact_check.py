"""Train a network on data of a known Gaussian process, and report it against that process."""

import argparse
import dataclasses
import json
import time
from pathlib import Path
from typing import NamedTuple

import _threads  # noqa: F401
import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from _table import markdown

from geomndp import train
from geomndp.auto.cosine_adam import cosine_adam, with_length
from geomndp.nets import RelativeAttention
from geomndp.score import NetworkScore

CHUNK, SAVE_EVERY = 100, 20  # steps per call, calls per saved state
HEADER = ("check", "measured", "bound", "met")


class Row(NamedTuple):
    """A measurement with its standard error, and the interval in which it should be."""

    name: str
    value: float
    error: float
    low: float | None
    high: float

    @property
    def met(self) -> bool:
        """Whether the value is in the interval."""
        return self.value <= self.high and (self.low is None or self.low <= self.value)


def parser(description: str, **defaults) -> argparse.ArgumentParser:
    """Arguments of the checks: sizes, folder of the run, file of the results."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--steps", type=int, default=defaults["steps"])
    parser.add_argument("--batch", type=int, default=defaults["batch"])
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--layers", type=int, default=5)
    parser.add_argument("--heads", type=int, default=8)
    parser.add_argument("--peak", type=float, default=defaults["peak"], help="learning rate")
    parser.add_argument("--tests", type=int, default=defaults["tests"], help="test functions")
    parser.add_argument("--ema", type=float, default=0.999, help="decay of averaged parameters")
    parser.add_argument("--seconds", type=float, default=None, help="fewer steps if so many pass")
    parser.add_argument("--folder", type=Path, default=None, help="of the state to resume from")
    parser.add_argument("--out", type=Path, default=None, help="JSON file of the results")
    return parser


def network(options: argparse.Namespace, outputs: int, groups: int = 1, **sizes) -> NetworkScore:
    """The untrained score."""
    sizes = {"width": options.width, "num_layers": options.layers, **sizes}
    heads = {"num_heads": options.heads, "num_groups": groups}
    return NetworkScore(
        RelativeAttention(1, outputs, **sizes, **heads, dtype="float32", key=jr.key(0))
    )


def trained(options: argparse.Namespace, score, noising, generator, loss) -> NetworkScore:
    """The score after training, from the last state in the folder if there is one.

    With a limit of seconds the number of steps, and the schedule of learning rates with it, follow
    from the time of the first ones.
    """
    start, total = time.perf_counter(), options.steps
    parts = (score, noising, generator, loss, cosine_adam(options.peak))
    trainer, state = train.init(*parts, key=jr.key(2), ema_decay=options.ema)
    state, chunk = with_length(state, total), min(CHUNK, total)
    path = None if options.folder is None else options.folder / "state.npz"
    if path is not None and path.exists():
        state = restored(path, state)
        total = int(state.optimiser[-1].total)
    elif options.seconds is not None:
        state, seconds = timed(trainer, state, chunk)
        total = min(total, int(state.step) + chunk * round(options.seconds / (chunk * seconds)))
        state = with_length(state, total)
        print(f"{1e3 * seconds:.2f} ms per step, {total} steps", flush=True)
    while (step := int(state.step)) < total:
        state, _ = train.train_steps(trainer, state, chunk)
        if path is not None and (step // chunk % SAVE_EVERY == 0 or step + chunk >= total):
            save(path, state)
    options.steps, options.training_seconds = total, time.perf_counter() - start
    print(f"{total} steps of {options.batch}: {options.training_seconds:.0f} s", flush=True)
    return dataclasses.replace(trainer.score(state.ema_params), conditional=True)


def timed(trainer: train.Trainer, state, chunk: int):
    """The state some steps on, and the seconds of a step after compilation."""
    state, _ = train.train_steps(trainer, state, chunk)
    start = time.perf_counter() if int(state.step) else 0.0  # the steps before are done
    for _ in range(3):
        state, _ = train.train_steps(trainer, state, chunk)
    return state, (time.perf_counter() - start) / (int(state.step) - chunk)


def save(path: Path, state) -> None:
    """Write a state to resume from, whole or not at all."""
    leaves = [jr.key_data(leaf) if _is_key(leaf) else leaf for leaf in jax.tree.leaves(state)]
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path.with_suffix(".new.npz"), *map(np.asarray, leaves))
    path.with_suffix(".new.npz").replace(path)


def restored(path: Path, like):
    """A state that `save` wrote."""
    old, tree = jax.tree.flatten(like)
    with np.load(path) as arrays:
        leaves = [arrays[f"arr_{i}"] for i in range(len(old))]
    leaves = [
        jr.wrap_key_data(new) if _is_key(was) else jax.device_put(new, was.sharding)
        for new, was in zip(leaves, old, strict=True)
    ]
    return jax.tree.unflatten(tree, leaves)


def _is_key(leaf) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def report(title: str, options: argparse.Namespace, score: NetworkScore, rows: list[Row]) -> bool:
    """Print the rows, write them where they are wanted, and tell whether all bounds are met."""
    device, size = jax.devices()[0].device_kind, _size(score)
    print(f"{title}. {device}, {options.training_seconds:.0f} s of training, {size} parameters")
    print(markdown(HEADER, cells(rows)))
    if options.out is not None:
        settings = {k: v for k, v in vars(options).items() if isinstance(v, int | float)}
        run = {"settings": settings, "device": device, "parameters": size}
        options.out.parent.mkdir(parents=True, exist_ok=True)
        write(options.out, title, run, rows)
    met = all(row.met for row in rows)
    print(f"Bounds met everywhere: {'yes' if met else 'no'}")
    return met


def cells(rows: list[Row]) -> list[tuple[str, ...]]:
    """Rows of the printed table."""
    return [(row.name, _value(row), _bound(row), "yes" if row.met else "no") for row in rows]


def write(path: Path, title: str, run: dict, rows: list[Row]) -> None:
    """Write a results file, with its table as the documentation shows it."""
    table = {"title": title, "header": HEADER, "cells": cells(rows)}
    content = {"run": run, "rows": [row._asdict() for row in rows], "table": table}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> list[Row]:
    """Rows of a results file."""
    entries = json.loads(path.read_text(encoding="utf-8"))["rows"]
    return [Row(**{name: entry[name] for name in Row._fields}) for entry in entries]


def _size(score: NetworkScore) -> int:
    return sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(score, eqx.is_array)))


def _value(row: Row) -> str:
    return f"{row.value:.4f} ± {row.error:.4f}"


def _bound(row: Row) -> str:
    return f"at most {row.high:g}" if row.low is None else f"{row.low:g} to {row.high:g}"
