"""How the observed values follow the noise level: the paper's four schemes.

"inner" draws fresh noise at every corrector step, "outer" once a time, "path" follows one noising
trajectory backwards, "none" leaves the values clean.
"""

import equinox as eqx

from geomndp import _validation
from geomndp._types import Inputs, Outputs, Scalar
from geomndp.linalg import AbstractGram
from geomndp.noising import AbstractNoising
from geomndp.samplers.base import Problem
from geomndp.solve import ancestral

SCHEMES = ("inner", "outer", "path", "none")


class ContextNoising(eqx.Module):
    """Observed values at a noise level, from noise xi that is given, a draw from N(0, K_cc)."""

    noising: AbstractNoising
    x: Inputs
    y: Outputs
    mean: Outputs
    root: AbstractGram
    scheme: str = eqx.field(static=True)

    def xi(self, z: Outputs) -> Outputs:
        """Noise from white noise."""
        return self.root.mv(z)

    def fresh(self, t: Scalar, xi: Outputs) -> Outputs:
        """Draw from the noised law at time t."""
        if self.scheme == "none":
            return self.y
        return self.noising.transition(self.noising.schedule.integral(t), self.x, self.y, xi)

    def back(self, t: Scalar, s: Scalar, y_t: Outputs, xi: Outputs) -> Outputs:
        """Values at s < t given those at t: the bridge to the clean values, or fresh noise."""
        if self.scheme != "path":
            return self.fresh(s, xi)
        clean = self.y - self.mean
        present = (y_t - self.mean - self.noising.alpha(t) * clean) / self.noising.sigma(t)
        a_s, kept, fresh = ancestral(self.noising, t, s)
        return self.mean + a_s * clean + kept * present + fresh * xi

    def again(self, t: Scalar, y_t: Outputs, xi: Outputs) -> Outputs:
        """Values for another corrector step at the same time."""
        return self.fresh(t, xi) if self.scheme == "inner" else y_t


def context_noising(problem: Problem, scheme: str) -> ContextNoising:
    """Rule for a problem's observations."""
    _validation.one_of("context", scheme, SCHEMES)
    x, mask = problem.observations.x, problem.observations.mask
    noising = problem.noising
    if scheme == "path" and not noising.manifold.flat:
        raise ValueError("expected context 'inner', 'outer' or 'none' on a manifold, got 'path'")
    gram = noising.gram(x, mask)
    root = gram.root() if len(x) else gram
    return ContextNoising(noising, x, problem.observations.y, noising.mean_at(x), root, scheme)
