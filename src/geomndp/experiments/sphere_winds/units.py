"""Unit of the models' values."""

SCALE = 4.3
"""m/s, standard deviation of a component's anomaly in the training times."""
