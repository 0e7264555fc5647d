"""One training step over explicit state, and many of them in one dispatch.

The functions of a batch are spread over devices, parameters are copied. Every device and process
derives the same batch from the same key, so that a run gives the same losses, to rounding, on any
number of devices. For several processes call `jax.distributed.initialize` first (on CPU with
`jax_cpu_collectives_implementation` "gloo").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import optax
from jax.flatten_util import ravel_pytree
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from geomndp._types import Array, Float, Int, PRNGKeyArray, Scalar
from geomndp.data import AbstractGenerator
from geomndp.noising import AbstractNoising
from geomndp.train.abstract_loss import AbstractLoss, LossInfo

Tree = TypeVar("Tree")
AHEAD = 10  # steps whose data are drawn at once: small factorisations fill a GPU only together


class TrainState(eqx.Module):
    """All that the next step needs; the parameters are one vector, so that an update is cheap.

    Attributes:
        params: Parameters of the score.
        ema_params: Their exponential moving average, without bias.
        optimiser: State of the optimiser.
        step: Steps done.
        key: Random key of the run; that of a step follows from it and the step alone.
    """

    params: Float[Array, " size"]
    ema_params: Float[Array, " size"]
    optimiser: Any
    step: Int[Array, ""]
    key: PRNGKeyArray


class StepInfo(NamedTuple):
    """Diagnostics of a step.

    Attributes:
        loss: Loss of the batch.
        gradient_norm: Euclidean norm of its gradient.
        time: Diffusion time of the function with the largest loss, NaN where there is none.
    """

    loss: Scalar
    gradient_norm: Scalar
    time: Scalar


class Trainer(eqx.Module):
    """The fixed part of a run.

    Attributes:
        static_score: The score, or another law of functions, without its parameters.
        noising: Forward process of a score; None for what has none.
        generator: Source of training batches.
        loss: Loss of a batch.
        optimiser: An optax transformation of gradients.
        ema_decay: Decay of the moving average of the parameters.
        unravel: Map from the parameter vector to the parameters of the score.
        mesh: Devices over which the batch is spread.
    """

    static_score: Any
    noising: AbstractNoising | None
    generator: AbstractGenerator
    loss: AbstractLoss
    optimiser: optax.GradientTransformation = eqx.field(static=True)
    ema_decay: float = eqx.field(static=True)
    unravel: Callable = eqx.field(static=True)
    mesh: Mesh = eqx.field(static=True)

    def score(self, params: Float[Array, " size"]) -> Any:
        """The score, or what else is trained, with given parameters.

        Args:
            params: Parameter vector.

        Returns:
            The score.
        """
        return eqx.combine(self.unravel(params), self.static_score)

    def draw(self, step: Int[Array, ""], key: PRNGKeyArray) -> tuple[Any, PRNGKeyArray]:
        """Batch of a step and the key of its loss, which depend on the step alone.

        Args:
            step: Number of the step.
            key: Random key of the run.

        Returns:
            What the generator draws, a `Batch` or what else the loss takes, and key.
        """
        data_key, loss_key = jr.split(jr.fold_in(key, step))
        return self.generator.draw(data_key), loss_key

    def step(self, state: TrainState, data: tuple[Any, PRNGKeyArray]):
        """Update parameters, their average, and the optimiser with one batch.

        Args:
            state: State before the step.
            data: Batch and key of its loss.

        Returns:
            State after the step, and its diagnostics.
        """
        batch, key = data

        def objective(params):
            score = eqx.combine(params, self.static_score)
            batching = self.generator.batching
            return self.loss(score, self.noising, batch, key=key, batching=batching)

        tree = self.unravel(state.params)
        (loss, info), gradients = jax.value_and_grad(objective, has_aux=True)(tree)
        gradient = ravel_pytree(gradients)[0]
        # optax mixes whole numbers and floats on purpose.
        with jax.numpy_dtype_promotion("standard"):
            updates, optimiser = self.optimiser.update(gradient, state.optimiser, state.params)
        params: Array = optax.apply_updates(state.params, updates)  # pyright: ignore
        step = state.step + 1
        # (1 - d) / (1 - d^k): the average of k vectors with weights d^0 .. d^(k-1), without bias.
        share = (1 - self.ema_decay) / (1 - self.ema_decay ** step.astype(params.dtype))
        ema_params = state.ema_params + share * (params - state.ema_params)
        step_info = StepInfo(loss, jnp.linalg.norm(gradient), _worst_time(info))
        return TrainState(params, ema_params, optimiser, step, state.key), step_info


def _worst_time(info: LossInfo) -> Scalar:
    losses = jnp.where(jnp.isfinite(info.losses), info.losses, jnp.inf)
    return info.times[jnp.argmax(losses)]


def divisor(number: int, most: int) -> int:
    """Largest divisor of `number` that is at most `most`.

    Args:
        number: A positive integer.
        most: Upper bound, at least 1.

    Returns:
        The divisor.
    """
    return max(d for d in range(1, most + 1) if number % d == 0)


def replicate(tree: Tree, mesh: Mesh) -> Tree:
    """Put a new copy of every array on every device.

    Args:
        tree: Any pytree; all processes must hold the same values.
        mesh: The devices.

    Returns:
        The same tree with replicated arrays.
    """
    sharding = NamedSharding(mesh, PartitionSpec())

    def put(leaf):
        if not eqx.is_array(leaf):
            return leaf
        if jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key):
            return jr.wrap_key_data(put(jr.key_data(leaf)), impl=jr.key_impl(leaf))
        values = np.array(leaf)
        return jax.make_array_from_callback(values.shape, sharding, lambda index: values[index])

    return jax.tree.map(put, tree)


def _spread(batches: Tree, mesh: Mesh, *, axis: int) -> Tree:
    """Spread the axis of the functions over the devices."""
    layout = NamedSharding(mesh, PartitionSpec(*axis * (None,), "batch"))
    return jax.lax.with_sharding_constraint(batches, layout)


@eqx.filter_jit(donate="all-except-first")
def train_steps(trainer: Trainer, state: TrainState, length: int) -> tuple[TrainState, StepInfo]:
    """Run several steps in one compiled program.

    Args:
        trainer: The fixed part of the run.
        state: State before the steps; its buffers are donated and cannot be used again.
        length: Number of steps.

    Returns:
        State after the steps, and the diagnostics of each, arrays of shape (length,).
    """
    ahead = divisor(length, AHEAD)

    def group(state, _):
        steps = state.step + jnp.arange(ahead, dtype=state.step.dtype)
        batches, keys = jax.vmap(lambda step: trainer.draw(step, state.key))(steps)
        data = (_spread(batches, trainer.mesh, axis=1), keys)
        return jax.lax.scan(lambda *args: trainer.step(*args), state, data)

    state, info = jax.lax.scan(group, state, None, length=length // ahead)
    return state, jax.tree.map(lambda leaf: leaf.reshape(length), info)


def dispatch_steps(trainer: Trainer, state: TrainState, length: int) -> tuple[TrainState, StepInfo]:
    """Run several steps by one call, or by one call each where a compiled loop would be slow.

    Batches and keys depend on the number of the step alone, so that both give the same numbers to
    rounding. Of calls of one step, one program serves all lengths.

    Args:
        trainer: The fixed part of the run.
        state: State before the steps; its buffers are donated and cannot be used again.
        length: Number of steps, at least 1.

    Returns:
        State after the steps, and the diagnostics of each, arrays of shape (length,).
    """
    if trainer.loss.looped or trainer.mesh.devices.flat[0].platform != "cpu":
        return train_steps(trainer, state, length)
    infos = []
    for _ in range(length):
        state, info = train_one_step(trainer, state)
        infos.append(info)
    return state, jax.tree.map(lambda *values: np.stack(values), *infos)


@eqx.filter_jit(donate="all-except-first")
def train_one_step(trainer: Trainer, state: TrainState) -> tuple[TrainState, StepInfo]:
    """Run one step, in a program without a loop (XLA would see one in a scan of length 1 too).

    Args:
        trainer: The fixed part of the run.
        state: State before the step; its buffers are donated and cannot be used again.

    Returns:
        State after the step, and its diagnostics.
    """
    batch, key = trainer.draw(state.step, state.key)
    return trainer.step(state, (_spread(batch, trainer.mesh, axis=0), key))
