"""Which synthetic random functions have a law that can be computed."""

from __future__ import annotations

from geomndp.baselines.exact_laws.mixture import MixtureLaw
from geomndp.baselines.exact_laws.sawtooth import SawtoothLaw
from geomndp.data import Mixture, Sawtooth, SyntheticProcess
from geomndp.predictive import AbstractProcess


def exact_law(process: SyntheticProcess) -> AbstractProcess | None:
    """Law of a synthetic process, where it has a density that can be computed.

    Args:
        process: Law of random functions as a generator of samples.

    Returns:
        The Gaussian process itself, the quadrature of noisy sawtooths, the mixture of such laws;
        None where a component has no noise, and hence no density given a few values.
    """
    if process.gp is not None:
        return process.gp
    if isinstance(process, Sawtooth) and process.noise > 0:
        return SawtoothLaw(process)
    if isinstance(process, Mixture):
        members = [exact_law(component) for component in process.components]
        known = tuple(member for member in members if member is not None)
        return MixtureLaw(known) if len(known) == len(members) else None
    return None
