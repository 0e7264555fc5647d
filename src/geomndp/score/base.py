"""What every score gives."""

import abc
from typing import TYPE_CHECKING

import equinox as eqx

from geomndp._types import Inputs, Mask, Outputs, Times
from geomndp.noising import AbstractNoising

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar


class AbstractScore(eqx.Module):
    r"""Preconditioned score $u = -E[\xi | Y] = K D \nabla \log p(Y)$, times one a point.

    At equal times u = sigma K grad log p_t; on a manifold sqrt(s) grad log p, a tangent vector.
    Masked rows of u are zero. `conditional` says whether points may sit at different times, so
    that u given a context at time zero is the score of the conditional law. `pads` says that
    masked points change nothing, so that functions may be filled up to one of few sizes.
    """

    conditional: AbstractVar[bool]
    pads = False

    @abc.abstractmethod
    def __call__(
        self, noising: AbstractNoising, t: Times, x: Inputs, y: Outputs, mask: Mask | None = None
    ) -> Outputs:
        """Return u (n, p)."""
