"""Real functions that nobody tuned for: one call per set, beside simple models."""
