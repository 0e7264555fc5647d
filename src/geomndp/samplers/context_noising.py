"""Noising of the context values during sampling: the paper's four schemes.

"inner" draws fresh noise at every corrector step, "outer" once per diffusion time, "path"
follows one noising trajectory backwards, "none" leaves the values clean.
"""

import equinox as eqx

from geomndp import _validation
from geomndp._types import Inputs, Outputs, Scalar
from geomndp.linalg import AbstractGram
from geomndp.noising import AbstractNoising
from geomndp.samplers.problem import Problem
from geomndp.solve import ancestral

SCHEMES = ("inner", "outer", "path", "none")


class ContextNoising(eqx.Module):
    """Context values at a noise level, from given noise xi, a draw from N(0, K_cc).

    Attributes:
        noising: Forward process.
        x: Context inputs (m, d).
        y: Observed values (m, p).
        mean: Mean (m, p) of the limiting law.
        root: Root of K_cc.
        scheme: One of `SCHEMES`.
    """

    noising: AbstractNoising
    x: Inputs
    y: Outputs
    mean: Outputs
    root: AbstractGram
    scheme: str = eqx.field(static=True)

    def xi(self, z: Outputs) -> Outputs:
        """Noise xi (m, p) from white noise z (m, p)."""
        return self.root.mv(z)

    def fresh(self, t: Scalar, xi: Outputs) -> Outputs:
        """Values (m, p) drawn from the noised law at time t."""
        if self.scheme == "none":
            return self.y
        return self.noising.transition(self.noising.schedule.integral(t), self.x, self.y, xi)

    def back(self, t: Scalar, s: Scalar, y_t: Outputs, xi: Outputs) -> Outputs:
        """Values (m, p) at s < t given those at t: bridge to the clean values, or fresh noise."""
        if self.scheme != "path":
            return self.fresh(s, xi)
        clean = self.y - self.mean
        present = (y_t - self.mean - self.noising.alpha(t) * clean) / self.noising.sigma(t)
        a_s, kept, fresh = ancestral(self.noising, t, s)
        return self.mean + a_s * clean + kept * present + fresh * xi

    def again(self, t: Scalar, y_t: Outputs, xi: Outputs) -> Outputs:
        """Values (m, p) for another corrector step at the same time."""
        return self.fresh(t, xi) if self.scheme == "inner" else y_t


def context_noising(problem: Problem, scheme: str) -> ContextNoising:
    """Noising of a problem's context values.

    Args:
        problem: Model and observations.
        scheme: One of `SCHEMES`.

    Returns:
        Context values as a function of diffusion time and noise.

    Raises:
        ValueError: If there is no such scheme, or for "path" on a manifold.
    """
    _validation.one_of("context", scheme, SCHEMES)
    x, mask = problem.observations.x, problem.observations.mask
    noising = problem.noising
    if scheme == "path" and not noising.flat:
        raise ValueError("expected context 'inner', 'outer' or 'none' on a manifold, got 'path'")
    gram = noising.gram(x, mask)
    root = gram.root() if len(x) else gram
    return ContextNoising(noising, x, problem.observations.y, noising.mean_at(x), root, scheme)
