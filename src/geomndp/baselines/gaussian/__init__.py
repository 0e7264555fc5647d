"""Simple Gaussian models of functions: a pooled process, a shrunk covariance, climatology."""
