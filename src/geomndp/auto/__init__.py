"""Sensible parts for a user's own data set."""

from geomndp.auto.build import build

__all__ = ["build"]
