"""One folder per experiment, listed in `registry`; what several share stands beside the folders."""
