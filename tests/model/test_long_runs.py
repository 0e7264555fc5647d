"""Many shapes in one process, Ctrl-C in the middle, compiled programs on disk: slow, real runs."""

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import jax.random as jr
import numpy as np
import pytest

from geomndp._arrays import bucket
from geomndp.model import _jit
from geomndp.samplers import Amortised

from ..cases import compilations

pytestmark = pytest.mark.slow
MAPS = Path("/proc/self/maps")


def num_maps() -> int:
    return MAPS.read_bytes().count(b"\n")


@pytest.mark.skipif(not MAPS.exists(), reason="memory maps are counted on Linux")
def test_two_hundred_shapes_in_one_process(learnt):
    _jit.forget_programs()
    shapes = list(itertools.product(range(3, 9), range(20, 61)))
    shapes = random.Random(0).sample(shapes, 200)
    pairs = {(bucket(m), bucket(n)) for m, n in shapes}
    x, seconds, compiled, maps = np.linspace(-2, 2, 60)[:, None], [], [], []

    def ask(m, n):
        posterior = learnt.condition(x[:m], np.sin(x[:m]))
        return posterior.sample(x[:n], key=jr.key(0), num_samples=2, sampler=Amortised(5))

    for shape in shapes:
        since = time.monotonic()
        compiled.append(compilations(lambda shape=shape: ask(*shape)))
        seconds.append(time.monotonic() - since)
        maps.append(num_maps())
    assert _jit.num_programs() == 2 * len(pairs) <= _jit.MAX_PROGRAMS
    # All programs are there after the last new pair; nothing grows from then on.
    last = max(i for i, number in enumerate(compiled) if number)
    # The first call also compiles small things that all shapes share.
    assert sum(compiled[1:]) == 2 * (len(pairs) - 1) and last < 150
    assert maps[-1] <= maps[last] + 20
    assert np.median(seconds[last + 1 :]) < 0.5


LONG = """
import jax, jax.numpy as jnp, jax.random as jr, numpy as np
from geomndp import Model
from geomndp.kernels import White
from geomndp.nets import RelativeAttention
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.samplers import Amortised
from geomndp.score import NetworkScore

net = RelativeAttention(1, 1, width=8, num_layers=1, num_heads=2, key=jr.key(0))
model = Model(OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0)), NetworkScore(net))
x = np.linspace(-2, 2, {points})[:, None].astype("float32")
report = lambda done: print("done", done, flush=True)
try:
    model.sample(x, key=0, num_samples={samples}, sampler=Amortised({steps}), progress=report)
except KeyboardInterrupt:
    print("stopped", flush=True)
"""
# Many samples of few steps, and one sample of very many.
RUNS = {"samples": (200, 100_000, 20), "steps": (400, 1, 100_000)}


@pytest.mark.parametrize("kind", RUNS)
def test_ctrl_c_is_heard_within_seconds(kind):
    points, samples, steps = RUNS[kind]
    code = LONG.format(points=points, samples=samples, steps=steps)
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("done")  # compiled, and on its way
        time.sleep(3)
        since = time.monotonic()
        process.send_signal(signal.SIGINT)
        out, error = process.communicate(timeout=60)
    assert time.monotonic() - since < 10  # two seconds of a stretch on a busy machine, and the exit
    assert process.returncode == 0 and out.splitlines()[-1] == "stopped", error


CACHED = """
import jax
import geomndp.model._jit as cache
from geomndp.model._jit import program
import jax.numpy as jnp

jax.config.update("jax_persistent_cache_min_compile_time_secs", 0)
x = jnp.arange(6.0).reshape(2, 3)
made = program(lambda x: jnp.sin(x) @ jnp.cos(x).T, x)
print(float(made(x).sum()), made.memory() >= 0, jax.config.jax_compilation_cache_dir)
"""


def test_programs_on_disk_serve_the_next_process(tmp_path):
    folder = tmp_path / "cache"
    environment = {**os.environ, "GEOMNDP_COMPILATION_CACHE": str(folder)}
    results = [
        subprocess.run(
            [sys.executable, "-c", CACHED], env=environment, check=True, capture_output=True
        ).stdout
        for _ in range(2)
    ]
    assert results[0] == results[1] and str(folder).encode() in results[0]
    assert any(folder.iterdir())
