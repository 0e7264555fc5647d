"""Neural processes: networks from a context and target inputs to a law of the target values."""
