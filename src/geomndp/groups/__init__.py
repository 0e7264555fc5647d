"""Motions of flat space, and how they act on the values of fields over it."""

from geomndp.groups.circular import ORDERS, circular_basis
from geomndp.groups.codomain import KINDS, Codomain, symmetric_basis
from geomndp.groups.motion import Motion, random_motion
from geomndp.groups.spherical import irreps_of, spherical_basis

__all__ = [
    "KINDS",
    "ORDERS",
    "Codomain",
    "Motion",
    "circular_basis",
    "irreps_of",
    "random_motion",
    "spherical_basis",
    "symmetric_basis",
]
