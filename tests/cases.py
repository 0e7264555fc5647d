"""Lists that feed the tests of the core: a new part joins its list and inherits every check."""

from functools import partial
from typing import NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import jaxtyping
import numpy as np
import pytest
from jax.extend.core import jaxprs_in_params

from geomndp import kernels, noising, score, solve
from geomndp.gp import GP


def slow_but(fast, names):
    """Parameters of a test, all but a few of them slow."""
    return [pytest.param(name, marks=() if name in fast else pytest.mark.slow) for name in names]


SE, White = kernels.SquaredExponential, kernels.White
DTYPES = (jnp.float64, jnp.float32)
N = 5  # points in most tests: one size, so that compiled operations are shared

# For programs that run once: the slow tests too spend less time in their compilation.
HURRY = {"xla_backend_optimization_level": 0, "xla_cpu_use_fusion_emitters": False}
quick = partial(jax.jit, compiler_options=HURRY)


class KernelCase(NamedTuple):
    """A kernel on the plane, and the variance of one output."""

    kernel: kernels.AbstractKernel
    variance: float


KERNELS = {
    "white": KernelCase(White(1.3), 1.3),
    "se": KernelCase(SE(0.7, 1.5), 1.5),
    "se-ard": KernelCase(SE((0.7, 1.3), 2.0), 2.0),
    "matern12": KernelCase(kernels.Matern12(0.7, 1.5), 1.5),
    "matern32": KernelCase(kernels.Matern32(0.7, 1.5), 1.5),
    "matern52": KernelCase(kernels.Matern52(0.7, 1.5), 1.5),
    "periodic": KernelCase(kernels.Periodic(1.1, 0.8, 1.5), 1.5),
    "sum": KernelCase(SE(0.7) + kernels.Matern32(1.3, 0.5), 1.5),
    "nugget": KernelCase(SE(1.0) + 0.05 * White(), 1.05),
    "product": KernelCase(SE(0.5, 2.0) * kernels.Periodic(0.5, 1.0, 1.5), 3.0),
    "white-product": KernelCase(White(2.0) * SE(0.7, 1.5), 3.0),
    "scaled": KernelCase(0.3 * kernels.Matern52(0.7, 1.5), 0.45),
    "diagonal": KernelCase(kernels.Diagonal(kernels.Matern52(0.7, 1.5), 2), 1.5),
    "diagonal-white": KernelCase(kernels.Diagonal(White(0.5), 2), 0.5),
    "curl-free": KernelCase(kernels.CurlFree(1.2, 1.5), 1.5),
    "divergence-free": KernelCase(kernels.DivergenceFree(1.2, 1.5), 1.5),
    "field-nugget": KernelCase(kernels.CurlFree(1.2) + 0.05 * kernels.Diagonal(White(), 2), 1.05),
    "field-sum": KernelCase(kernels.Diagonal(SE(0.7), 2) + kernels.DivergenceFree(1.2), 2.0),
}
SCALAR = tuple(name for name, case in KERNELS.items() if case.kernel.dim == 1)
KINDS = ("white", "se", "diagonal", "curl-free")  # one for each structure of a Gram operator
# Every kernel for tests that see its Gram operator alone: those with one like another's are slow.
GRAMS = slow_but((*KINDS, "product", "field-nugget", "field-sum"), KERNELS)

SCHEDULES = {
    "linear": noising.LinearSchedule(0.0, 10.0),
    "linear-low": noising.LinearSchedule(1e-4, 15.0),
    "linear-high": noising.LinearSchedule(2.0, 3.0),
    "cosine": noising.CosineSchedule(),
    "cosine-short": noising.CosineSchedule(3.0),
}

GRIDS = {
    "uniform": solve.UniformTimeGrid(),
    "power": solve.PowerTimeGrid(3.0),
    "power-7": solve.PowerTimeGrid(7.0),
    "log-snr": solve.LogSnrTimeGrid(1e-3),
    "log-snr-high": solve.LogSnrTimeGrid(1.0),
}

# Limiting kernels of scalar functions: white, smooth, and smooth with a nugget.
LIMITS = {
    "white": White(1.3),
    "se": SE(1.0),
    "nugget": SE(1.0) + 0.05 * White(),
    "periodic": kernels.Periodic(1.0, 1.0) + 0.05 * White(),
}


def slope(x):
    """Mean function of data."""
    return 0.5 - x[:, :1]


def shift(x):
    """Mean function of a limiting law."""
    return 0.3 * jnp.ones((len(x), 1), dtype=x.dtype)


DATA = {
    "se": GP(SE(0.5), noise=0.01),
    "matern-mean": GP(kernels.Matern32(0.4, 0.7), mean=slope, noise=0.02),
    "white": GP(White(0.4)),
}

SCORES = {
    **{name: score.GaussianScore(gp) for name, gp in DATA.items()},
    "mixture": score.MixtureScore([DATA["se"], DATA["matern-mean"]], [0.3, 0.7]),
}

SOLVERS = {"euler": (solve.Euler(), 1), "heun": (solve.Heun(), 2), "rk4": (solve.RK4(), 4)}


def ou(limit="white", schedule="linear", mean=shift) -> noising.OrnsteinUhlenbeck:
    """Noising of scalar functions."""
    return noising.OrnsteinUhlenbeck(LIMITS[limit], SCHEDULES[schedule], mean)


def inputs(n, d=2, *, key, dtype=jnp.float64):
    """Random inputs in [-2, 2]^d."""
    return jr.uniform(key, (n, d), minval=-2.0, maxval=2.0, dtype=dtype)


def normal(*shape, key, dtype=jnp.float64):
    """White noise."""
    return jr.normal(key, shape, dtype=dtype)


def random(key):
    """NumPy's numbers from a key of JAX's: no shape has to be compiled."""
    return np.random.default_rng(np.asarray(jr.key_data(key)))


def perturbed(tree, scale, *, key):
    """A network with noise on all parameters, so that a zero-initialised output says something."""
    rng = random(key)

    def move(leaf):
        noise = scale * rng.standard_normal(leaf.shape)
        return jnp.asarray(np.asarray(leaf) + noise.astype(leaf.dtype))

    return jax.tree.map(lambda leaf: move(leaf) if eqx.is_array(leaf) else leaf, tree)


def matrix_of(linear, n, p, dtype=jnp.float64):
    """Matrix of a linear map on (n, p) arrays, on flattened indices."""
    basis = jnp.eye(n * p, dtype=dtype).reshape(n * p, n, p)
    return jnp.stack([linear(e).reshape(n * p) for e in basis], axis=1)


def rotation(d, *, key, reflect=False):
    """Random rotation of d-space, or one with a reflection."""
    q, _ = np.linalg.qr(np.asarray(normal(d, d, key=key)))
    if (np.linalg.det(q) < 0) != reflect:
        q[:, 0] *= -1
    return jnp.asarray(q)


def _equations(jaxpr):
    for equation in jaxpr.eqns:
        yield equation
        for inner in jaxprs_in_params(equation.params):
            yield from _equations(inner)


def largest(fn, *args) -> int:
    """Size of the largest array that a function makes."""
    equations = _equations(jax.make_jaxpr(fn)(*args).jaxpr)
    return max(int(np.prod(v.aval.shape)) for equation in equations for v in equation.outvars)


def operands(primitive: str, fn, *args) -> list[tuple[int, ...]]:
    """Shapes of what a function feeds to a primitive."""
    equations = _equations(jax.make_jaxpr(fn)(*args).jaxpr)
    return [e.invars[0].aval.shape for e in equations if e.primitive.name == primitive]


@pytest.fixture
def unchecked():
    """Leave bad shapes to the library's own refusals: no jaxtyping for a while."""
    jaxtyping.config.update("jaxtyping_disable", True)
    yield
    jaxtyping.config.update("jaxtyping_disable", False)


_COMPILED: list[str] = []


def _listen(event: str, _seconds: float, **_):
    if event == "/jax/core/compile/backend_compile_duration":
        _COMPILED.append(event)


jax.monitoring.register_event_duration_secs_listener(_listen)


def compilations(fn) -> int:
    """How many programs a call compiles."""
    before = len(_COMPILED)
    jax.block_until_ready(fn())
    return len(_COMPILED) - before
