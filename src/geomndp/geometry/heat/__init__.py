"""Heat kernels: in closed form where there is one, by a random walk elsewhere."""

from geomndp.geometry.heat.closed import has_heat_kernel, heat_kernel
from geomndp.geometry.heat.kernel import AbstractHeatKernel
from geomndp.geometry.heat.walk import random_walk

__all__ = ["AbstractHeatKernel", "has_heat_kernel", "heat_kernel", "random_walk"]
