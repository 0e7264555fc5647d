"""Train a network on data of a known Gaussian process, and report it against that process."""

import argparse
import json
import time
from pathlib import Path
from typing import NamedTuple

import _threads  # noqa: F401
import equinox as eqx
import jax
import jax.random as jr
from _table import markdown

from geomndp import train
from geomndp.nets import RelativeAttention
from geomndp.score import NetworkScore


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
    parser.add_argument("--folder", type=Path, default=None, help="checkpoints, to resume from")
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
    """The score after training, from the last checkpoint of the folder if there is one."""
    start = time.perf_counter()
    settings = {"loss": loss, "optimiser": train.adam(options.steps, peak=options.peak)}
    settings |= {"directory": options.folder, "ema_decay": 0.9995 if options.steps > 2e4 else 0.998}
    score, _ = train.fit_score(
        score, noising, generator, steps=options.steps, key=jr.key(2), quiet=True, **settings
    )
    options.seconds = time.perf_counter() - start
    print(f"{options.steps} steps of {options.batch}: {options.seconds:.0f} s", flush=True)
    return score


def report(title: str, options: argparse.Namespace, score: NetworkScore, rows: list[Row]) -> bool:
    """Print the rows, write them where they are wanted, and tell whether all bounds are met."""
    device, size = jax.devices()[0].device_kind, _size(score)
    cells = [(row.name, _value(row), _bound(row), "yes" if row.met else "no") for row in rows]
    print(f"{title}. {device}, {options.seconds:.0f} s of training, {size} parameters")
    print(markdown(["check", "measured", "bound", "met"], cells))
    if options.out is not None:
        settings = {k: v for k, v in vars(options).items() if isinstance(v, int | float)}
        entries = [{**row._asdict(), "met": row.met} for row in rows]
        content = {"settings": settings, "device": device, "parameters": size, "rows": entries}
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    met = all(row.met for row in rows)
    print(f"Bounds met everywhere: {'yes' if met else 'no'}")
    return met


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
