"""Heat kernels in closed form: their interface, densities by distance, and exact draws."""
