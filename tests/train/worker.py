"""Train a network of one layer, 8 wide, in a process of its own.

python worker.py RESULT [--folder FOLDER] [--processes ADDRESS INDEX]
"""

import argparse
import resource
import sys

import jax
import jax.random as jr
import numpy as np

import geomndp
from geomndp import data, kernels, nets, noising, score, train


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("result")
    parser.add_argument("--folder")
    parser.add_argument("--processes", nargs=2, default=None)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--longest-file", type=int, default=None)
    options = parser.parse_args()
    if options.longest_file is not None:  # bytes: writing more fails, as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (options.longest_file,) * 2)
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_numpy_dtype_promotion", "strict")
    jax.config.update("jax_numpy_rank_promotion", "raise")
    if options.processes is not None:
        address, index = options.processes
        jax.config.update("jax_cpu_collectives_implementation", "gloo")
        jax.distributed.initialize(address, num_processes=2, process_id=int(index))
    process = data.regression1d("paper", "se").process
    generator = data.ProcessGenerator(process, batch_size=4, max_points=6)
    limit = noising.OrnsteinUhlenbeck(
        kernels.White(process.variance), noising.LinearSchedule(0.0, 10.0)
    )
    net = nets.RelativeAttention(
        1, 1, width=8, num_layers=1, num_heads=2, bias_width=8, num_frequencies=4, key=jr.key(0)
    )
    trained, history = geomndp.fit(
        geomndp.Model(limit, score.NetworkScore(net)),
        generator,
        steps=options.steps,
        key=jr.key(1),
        loss=train.DenoisingLoss(),
        optimiser=train.adam(100),
        chunk=5,
        checkpoint_every=10,
        directory=options.folder,
        quiet=True,
    )
    leaves = [np.asarray(leaf).ravel() for leaf in jax.tree.leaves(trained.score)]
    np.savez(
        options.result,
        params=np.concatenate(leaves),
        loss=history.loss,
        steps=history.steps,
        devices=jax.device_count(),
    )


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError, RuntimeError) as error:
        sys.exit(f"refused: {error}")
