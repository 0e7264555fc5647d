"""Rigid transforms of flat space, and their action on the values of fields over it."""

from geomndp._deprecated import deprecated_names
from geomndp.equivariance.field_type import (
    ORDERS,
    REPRESENTATIONS,
    FieldType,
    circular_basis,
    symmetric_basis,
)
from geomndp.equivariance.spherical import irreps_of, spherical_basis
from geomndp.equivariance.transforms import RigidTransform, random_transform

__all__ = [
    "ORDERS",
    "REPRESENTATIONS",
    "FieldType",
    "RigidTransform",
    "circular_basis",
    "irreps_of",
    "random_transform",
    "spherical_basis",
    "symmetric_basis",
]

deprecated_names(
    __name__,
    {
        "Codomain": "FieldType",
        "KINDS": "REPRESENTATIONS",
        "Motion": "RigidTransform",
        "random_motion": "random_transform",
    },
)
