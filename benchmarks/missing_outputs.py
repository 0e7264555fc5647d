"""Two outputs, half of whose values are missing at random: a network against the exact process.

python benchmarks/missing_outputs.py --steps 80000 --folder runs/missing_outputs --out missing.json

Functions of a Gaussian process with known coregionalisation (SE of lengthscale 1, correlation 0.8,
noise 0.1) at 8 points of [-2, 2]. Regret is the difference of the log-densities of the targets
under the process and under the network, in nats per target value. The sizes by default are for a
GPU (three minutes); on a CPU take `--steps 10000 --batch 128 --width 32 --layers 4 --heads 4`.
"""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
from _exact_check import Row, network, parser, report, trained

from geomndp._types import Batch
from geomndp.data import ContextSampler, ResampledGenerator
from geomndp.gp import GP
from geomndp.kernels import Coregionalised, Diagonal, SquaredExponential, White
from geomndp.likelihood import Flow
from geomndp.model import likelihood_routes
from geomndp.noising import DEFAULT_SCHEDULE_1D, OrnsteinUhlenbeck
from geomndp.samplers import Observations, Problem
from geomndp.samplers.problem import no_observations
from geomndp.train import ContextNoiseLevels, default_loss

PROCESS = GP(Coregionalised(SquaredExponential(1.0), ((1.0, 0.8), (0.8, 1.0))), noise=0.1)
NOISING = OrnsteinUhlenbeck(Diagonal(White(1.1), 2), DEFAULT_SCHEDULE_1D)
POINTS, HALF, T_MIN, BOUND = 8, 4, 5e-4, 0.02
AT_ONCE = 50_000  # functions drawn together


def functions(num: int, key) -> Batch:
    """Functions of which every value is missing with probability 1/2, but one of each half."""
    input_key, value_key, mask_key = jr.split(key, 3)
    x = jr.uniform(input_key, (num, POINTS, 1), jnp.float32, -2.0, 2.0)
    draw = jax.jit(jax.vmap(lambda x, key: PROCESS.sample(x, key=key)))
    keys, starts = jr.split(value_key, num), range(0, num, AT_ONCE)
    y = jnp.concatenate([draw(x[i : i + AT_ONCE], keys[i : i + AT_ONCE]) for i in starts])
    mask = jr.bernoulli(mask_key, 0.5, y.shape).astype(y.dtype)
    mask = mask.at[:, 0, 0].set(1.0).at[:, HALF, 1].set(1.0)
    return Batch(x, y * mask, mask, jnp.zeros_like(mask))


def patterns(mask, key) -> dict[str, jax.Array]:
    """Which of the values are observed; the others are targets."""
    first, second = jnp.eye(2, dtype=mask.dtype)[:, None, None]
    earlier = (jnp.arange(POINTS)[None, :, None] < HALF).astype(mask.dtype)
    anywhere = jr.bernoulli(key, 0.5, mask.shape).astype(mask.dtype)
    anywhere = anywhere.at[:, 0, 0].set(0.0)  # one target at least
    return {
        "values at other points": mask * earlier,
        "second output, given the first at the same points": mask * first,
        "first output, given the second at the same points": mask * second,
        "any value, given any others": mask * anywhere,
    }


def log_prob(score, x, y, seen, mask):
    """Nats of the masked values given those seen, in one set of rows."""
    observed = Observations(x, y, jnp.zeros(len(x), x.dtype), False, seen)
    nothing = no_observations(1, 2, x.dtype)
    problem = Problem(NOISING, score, x, nothing, T_MIN, mask, partial=observed)
    return likelihood_routes.log_prob(Flow(), problem, y, mask, None, "conditional").value


def exact(x, y, seen, mask):
    """The same of the process."""
    return PROCESS.condition(x, y, mask=seen).log_prob(x, y, mask)


def regrets(score, num: int, key, batch_size: int = 500) -> list[Row]:
    """Regret in every pattern, with its standard error over functions."""
    x, y, mask = functions(num, key)[:3]

    @jax.jit
    def both(arrays):
        ours = jax.lax.map(lambda task: log_prob(score, *task), arrays, batch_size=batch_size)
        return jax.vmap(exact)(*arrays), ours

    rows = []
    for name, seen in patterns(mask, jr.fold_in(key, 1)).items():
        targets = mask * (1.0 - seen)
        with jax.default_matmul_precision("highest"):
            truth, ours = both((x, y, seen, targets))
        difference, counts = np.asarray(truth - ours), np.asarray(targets.sum(axis=(1, 2)))
        regret = difference.sum() / counts.sum()
        spread = np.std(difference - regret * counts) * np.sqrt(num) / counts.sum()
        rows.append(Row(name, float(regret), float(spread), None, BOUND))
        print(name, f"{regret:.4f} ± {spread:.4f}", flush=True)
    return rows


def main(arguments: list[str] | None = None) -> bool:
    """Read the arguments, train, evaluate, report."""
    defaults = {"steps": 80_000, "batch": 512, "peak": 3e-3, "tests": 8_000}
    arguments_parser = parser(__doc__.splitlines()[0], **defaults)
    arguments_parser.add_argument("--functions", type=int, default=1_000_000, help="for training")
    options = arguments_parser.parse_args(arguments)
    generator = ResampledGenerator(
        functions=functions(options.functions, jr.key(1)),
        batch_size=options.batch,
        thinned_share=0.2,
        contexts=ContextSampler(share=0.75, few=4),
    )
    clean = ContextNoiseLevels(clean_share=1.0)
    loss = dataclasses.replace(default_loss("real"), context_noise_levels=clean)
    sizes = {"bias_width": 16, "num_frequencies": 12, "min_wavelength": 0.6}
    score = trained(options, network(options, 2, 2, **sizes), NOISING, generator, loss)
    rows = regrets(score, options.tests, jr.key(9))
    return report("Regret, nats per target value", options, score, rows)


if __name__ == "__main__":
    main()
