"""Posterior samples under a turned context: with the noise turned too, they turn with it."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp

from geomndp._types import Array, Float
from geomndp.linalg import matmul
from geomndp.samplers import AbstractProgramSampler, Amortised, Phase


class Turned(AbstractProgramSampler):
    """One reverse pass whose noise, drawn as ever, is multiplied by a matrix at every point."""

    matrix: Float[Array, "p p"]
    inner: Amortised = eqx.field(default_factory=Amortised)

    @property
    def steps(self):
        return self.inner.steps

    @property
    def time_grid(self):
        return self.inner.time_grid

    def check(self, problem):
        self.inner.check(problem)

    def program(self, problem):
        program = self.inner.program(problem)

        def turn(noise):
            return tuple(matmul(z, self.matrix.T) for z in noise)

        def turned(phase: Phase) -> Phase:
            return phase._replace(
                step=lambda state, inputs, noise: phase.step(state, inputs, turn(noise))
            )

        return program._replace(
            init=lambda noise: program.init(turn(noise)),
            phases=tuple(turned(phase) for phase in program.phases),
        )


def quarter_turn(dtype) -> Float[Array, "2 2"]:
    """Rotation of the plane by 90 degrees, which takes a square grid to itself."""
    return jnp.asarray([[0.0, -1.0], [1.0, 0.0]], dtype)
