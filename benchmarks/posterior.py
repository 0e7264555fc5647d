"""Processor seconds of posteriors of `regression1d/se`: 64 samples, or a density, at 50 targets.

Given 10 points, with the attention of JAX and points padded to 12 and 64 ("before"), and with
folded attention and 12 and 56 ("now"), in turn in one process with one thread, compiled before. The
last line is a request with next to nothing to compute: what `posterior.sample` takes beside its
programs.

python benchmarks/posterior.py [--repeats 3]
"""

import argparse
import dataclasses
import time
from collections.abc import Callable
from typing import Any

import _threads  # noqa: F401
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _arrays
from geomndp.model import load
from geomndp.nets import with_config
from geomndp.samplers import Amortised

TARGETS = np.linspace(-2, 2, 50, dtype=np.float32)[:, None]


def seconds(call: Callable) -> float:
    """Processor seconds of a call."""
    start = time.process_time()
    jax.block_until_ready(call())
    return time.process_time() - start


def posteriors() -> dict[str, tuple[Any, int]]:
    """The posterior by both versions, with the number from which on there are more sizes."""
    model = load("regression1d/se")
    net = with_config(model.score.net, attention_backend="xla")
    plain = dataclasses.replace(model, score=dataclasses.replace(model.score, net=net))
    xc = jr.uniform(jr.key(0), (10, 1), minval=-2, maxval=2)
    yc = jnp.sin(3 * xc)
    versions = {"before": (plain, 64), "now": (model, _arrays.MANY)}
    return {version: (law.condition(xc, yc), many) for version, (law, many) in versions.items()}


def requests(posterior) -> dict[str, Callable]:
    """Requests by name."""

    def sample(steps, x=TARGETS, num=64):
        options = {"key": jr.key(0), "num_samples": num, "sampler": Amortised(steps)}
        return lambda: posterior.sample(x, **options)

    density = {"log_prob, exact divergence": lambda: posterior.log_prob(TARGETS, jnp.sin(TARGETS))}
    samples = {f"64 samples, {steps} steps": sample(steps) for steps in (50, 4)}
    return samples | density | {"1 sample, 1 target, 1 step": sample(1, TARGETS[:1], 1)}


def main() -> None:
    """Measure every request by both versions, in turn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    versions = {version: (requests(law), many) for version, (law, many) in posteriors().items()}
    for name in versions["now"][0]:
        times = {version: [] for version in versions}
        for repeat in range(repeats + 1):
            for version, (calls, _arrays.MANY) in versions.items():
                taken = seconds(calls[name])
                times[version] += [taken] if repeat else []
        before, now = (min(times[version]) for version in ("before", "now"))
        print(f"{name:<28} before {before:.3f} s, now {now:.3f} s, ratio {before / now:.2f}")


if __name__ == "__main__":
    main()
