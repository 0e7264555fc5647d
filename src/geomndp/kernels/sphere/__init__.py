"""Covariances of scalar and tangent fields over the unit sphere of R^3."""
