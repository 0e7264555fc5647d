"""Samples of one request and of many tasks over two devices, and on one of them.

python spread_worker.py RESULT
"""

import sys

import jax
import numpy as np

from geomndp import Model, ProcessModel, _arrays
from geomndp.gp import GP
from geomndp.kernels import SquaredExponential, White
from geomndp.noising import LinearSchedule, OrnsteinUhlenbeck
from geomndp.samplers import Amortised
from geomndp.score import GaussianScore


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    process = GP(SquaredExponential(0.5), noise=0.01)
    noising = OrnsteinUhlenbeck(White(), LinearSchedule(0.0, 10.0))
    learnt = Model(noising, GaussianScore(process))
    rng = np.random.default_rng(0)
    tasks = [tuple(rng.normal(size=(n, 1)) for n in (3, 3, 2)) for _ in range(3)]
    numbers_of_devices = []
    original = _arrays.spread_rows

    def count(rows, devices):
        numbers_of_devices.append(len(devices))
        return original(rows, devices)

    for module in ("sampling", "batch_rows"):
        sys.modules[f"geomndp.model.{module}"].spread_rows = count

    def draw() -> list[np.ndarray]:
        x, y, targets = tasks[0]
        options = {"key": 0, "num_samples": 5, "sampler": Amortised(3)}
        one = learnt.condition(x, y).sample(targets, **options)
        many = ProcessModel(process).condition_many(tasks).sample(key=0, num_samples=2)
        return [np.asarray(one), *(np.asarray(samples) for _, samples in many)]

    spread_out = draw()
    with jax.default_device(jax.devices()[0]):
        alone = draw()
    error = max(np.max(np.abs(a - b)) for a, b in zip(spread_out, alone, strict=True))
    np.savez(sys.argv[1], devices=numbers_of_devices, error=error)


if __name__ == "__main__":
    main()
