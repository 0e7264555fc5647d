"""Winds over the Earth, from stations: models that know the axis, of 101 fields of 2018."""
