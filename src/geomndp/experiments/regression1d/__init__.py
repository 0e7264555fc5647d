"""1D regression: functions on the line, with and without translation invariance."""
