"""What every score gives: u, the preconditioned score at one time per point."""

import abc
from typing import TYPE_CHECKING, Any

import equinox as eqx

from geomndp._types import Inputs, Mask, Outputs, Times
from geomndp.noising import AbstractNoising

if TYPE_CHECKING:  # to pyright an AbstractVar is a field, the first of every subclass
    from typing import ClassVar as AbstractVar
else:
    from equinox import AbstractVar


class AbstractScore(eqx.Module):
    r"""Preconditioned score $u = -E[\xi | Y] = K D \nabla \log p(Y)$, at one time per point.

    At equal times u = sigma K grad log p_t; on a manifold sqrt(s) grad log p, a tangent vector.

    Attributes:
        conditional: Whether points may have different times, so that u given a context at time zero
            is the score of the conditional law.
        pads: Whether masked points change nothing, so that functions may be padded to one of few
            sizes.
        has_flow_map: Whether `flow_map` knows whole steps of the probability flow.
    """

    conditional: AbstractVar[bool]
    pads = False
    has_flow_map = False

    @property
    def num_groups(self) -> int:
        """Most groups of outputs that may have masks and times of their own, 1 where none do."""
        return 1

    @abc.abstractmethod
    def __call__(
        self, noising: AbstractNoising, t: Times, x: Inputs, y: Outputs, mask: Mask | None = None
    ) -> Outputs:
        """Evaluate the score.

        Args:
            noising: Forward process.
            t: Diffusion times in [0, 1], a scalar, (n,), or (n, g) where outputs are observed
                apart (see `num_groups`); zero for context points.
            x: Inputs (n, d).
            y: Noised values (n, p).
            mask: (n,) or (n, g), zero where a value is padding or missing.

        Returns:
            u (n, p), zero where masked.
        """

    def prepare(self, x: Inputs, mask: Mask | None = None) -> Any:
        """What evaluations at the same points share, whatever their times and values.

        Args:
            x: Inputs (n, d).
            mask: (n,) or (n, g), zero where a value is padding or missing.

        Returns:
            A tree of arrays for `with_prepared`, None where there is nothing worth keeping.
        """
        return None

    def with_prepared(self, prepared: Any) -> "AbstractScore":
        """The score at the points of `prepare` alone, which does not compute that again."""
        return self

    def flow_map(
        self,
        noising: AbstractNoising,
        t: Times,
        s: Times,
        x: Inputs,
        y: Outputs,
        mask: Mask | None = None,
    ) -> Outputs:
        """Values to which the probability flow leads, in one evaluation.

        Args:
            noising: Forward process.
            t: Diffusion times, as those of a call.
            s: Times to which the flow leads, before or after t; a point stays where both are equal.
            x: Inputs (n, d).
            y: Noised values (n, p) at the times t.
            mask: (n,) or (n, g), zero where a value is padding or missing.

        Returns:
            Values (n, p) at the times s, zero where masked.

        Raises:
            ValueError: If the score knows no flow map.
        """
        raise ValueError(
            f"expected a student with flow maps (gn.distil makes one), got {type(self).__name__} "
            "without; use Amortised"
        )
