"""Winds over the Earth, from stations: a model that knows the axis, trained on one year."""
