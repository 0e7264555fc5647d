"""Sensible parts for a user's own data set."""

from geomndp._build.build import build

__all__ = ["build"]
