"""Exact laws of the synthetic random functions, to which learnt models lose."""

from geomndp.baselines.exact_laws.lookup import exact_law
from geomndp.baselines.exact_laws.mixture import MixtureLaw
from geomndp.baselines.exact_laws.sawtooth import SawtoothLaw

__all__ = ["MixtureLaw", "SawtoothLaw", "exact_law"]
