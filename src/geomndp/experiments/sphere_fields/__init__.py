"""Fields on the sphere: synthetic laws with an exact answer, and winds over the Earth."""
