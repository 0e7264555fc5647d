"""Which parts of a law given observations are drawn by a sampler, and not exactly."""

from typing import Any

from geomndp.model.posterior import Posterior


def learnt_posteriors(posterior: Any) -> list[Posterior]:
    """The posteriors of networks: it, or those among the members of a mixture.

    Args:
        posterior: The law of any model given observations.

    Returns:
        Those that take a `sampler`, none where all are drawn exactly.
    """
    members = getattr(posterior, "posteriors", (posterior,))
    return [member for member in members if isinstance(member, Posterior)]
