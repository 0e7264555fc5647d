"""The loss of the shipped models and of plans."""

from geomndp import _validation
from geomndp.solve import PowerTimeGrid
from geomndp.train.loss import DenoisingLoss, LikelihoodWeighting


def default_loss(codomain: str) -> DenoisingLoss:
    """Default loss (best in the ablation): times dense near zero, contexts of any accepted noise.

    Args:
        codomain: "real", or "sphere" for values on S^2.

    Returns:
        The loss.
    """
    _validation.one_of("codomain", codomain, ("real", "sphere"))
    if codomain == "sphere":
        return DenoisingLoss(times=PowerTimeGrid(7.0), reduction="point")
    return DenoisingLoss(times=PowerTimeGrid(2.0), weight=LikelihoodWeighting(), reduction="point")
