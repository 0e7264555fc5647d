"""Cyclone tracks on the sphere, with simple forecasts to compare with."""
