"""Score a small model on one device and on all, in a process of its own: worker.py RESULT."""

import sys

import jax
import jax.random as jr
import numpy as np

from geomndp import Model, data, evaluate, kernels, likelihood, nets, noising, score


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_numpy_dtype_promotion", "strict")
    jax.config.update("jax_numpy_rank_promotion", "raise")
    process = data.regression1d("paper", "se").process
    limit = noising.OrnsteinUhlenbeck(kernels.White(), noising.LinearSchedule(0.0, 10.0))
    net = nets.RelativeAttention(1, 1, width=8, num_layers=1, num_heads=2, key=jr.key(0))
    model = Model(limit, score.NetworkScore(net, conditional=True))
    tasks = data.tasks(process, num=7, contexts=(1, 3), targets=3)
    flow = likelihood.Flow(steps=2, divergence=likelihood.Hutchinson(probes=2))
    options = {"num_context": 3, "key": jr.key(1), "batch_size": 2, "block_size": 4}
    options |= {"flow": flow, "route": "conditional"}
    one, all_of_them = (
        evaluate.log_likelihood(model, tasks, **options, devices=devices)
        for devices in (jax.devices()[:1], None)
    )
    np.savez(sys.argv[1], devices=jax.device_count(), one=one, all=all_of_them)


if __name__ == "__main__":
    main()
