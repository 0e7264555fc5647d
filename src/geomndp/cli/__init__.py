"""Command line: parse, then call."""

from geomndp.cli.main import main

__all__ = ["main"]
