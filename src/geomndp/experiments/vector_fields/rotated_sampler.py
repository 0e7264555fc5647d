"""Posterior samples given a rotated context: with the noise rotated too, they are rotated alike."""

from __future__ import annotations

import equinox as eqx
import jax.numpy as jnp

from geomndp._types import Array, Float
from geomndp.linalg import matmul
from geomndp.samplers import AbstractProgramSampler, Amortised, Phase


class RotatedNoiseSampler(AbstractProgramSampler):
    """One reverse pass whose noise, drawn as ever, is multiplied by a matrix at every point.

    The matrix is one for all points, or on a manifold one for every target point.
    """

    matrix: Float[Array, "*n p p"]
    inner: AbstractProgramSampler = eqx.field(default_factory=Amortised)

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

        def rotate(noise):
            return tuple(matmul(self.matrix, z[..., None])[..., 0] for z in noise)

        def rotated(phase: Phase) -> Phase:
            return phase._replace(
                step=lambda state, inputs, noise: phase.step(state, inputs, rotate(noise))
            )

        return program._replace(
            init=lambda noise: program.init(rotate(noise)),
            phases=tuple(rotated(phase) for phase in program.phases),
        )


def rotation_90(dtype) -> Float[Array, "2 2"]:
    """Rotation of the plane by 90 degrees, which takes a square grid to itself."""
    return jnp.asarray([[0.0, -1.0], [1.0, 0.0]], dtype)
