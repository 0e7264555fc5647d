"""Large fields: coherent samples of any size, drawn patch by patch."""

from geomndp.patches.correlation import default_patches, kernel_range, sample_range, sphere_range
from geomndp.patches.field import AbstractPatchLaw, PatchwiseField, run
from geomndp.patches.kl import SchemeKL, scheme_kl
from geomndp.patches.layout import Layout, Patch
from geomndp.patches.locations import Locations, grid, scattered
from geomndp.patches.planning import plan, plan_points
from geomndp.patches.scheme import Patches, from_text
from geomndp.patches.values import AbstractValues, MemoryValues

__all__ = [
    "AbstractPatchLaw",
    "AbstractValues",
    "Layout",
    "Locations",
    "MemoryValues",
    "Patch",
    "Patches",
    "PatchwiseField",
    "SchemeKL",
    "default_patches",
    "from_text",
    "grid",
    "kernel_range",
    "plan",
    "plan_points",
    "run",
    "sample_range",
    "scattered",
    "scheme_kl",
    "sphere_range",
]
