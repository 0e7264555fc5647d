"""Entry point: one clear sentence and a non-zero exit code where something is wrong."""

from __future__ import annotations

import importlib
import os
import sys

from geomndp.cli.commands import Demo, Evaluate, List, Reproduce, Train

# One thread for XLA on the CPU and for its LAPACK: see docs/decisions.md.
THREADS = ("NPROC", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")

_RUN = {
    Demo: ("demo", "demo"),
    List: ("models", "list_models"),
    Train: ("models", "train"),
    Evaluate: ("models", "evaluate"),
    Reproduce: ("tables", "reproduce"),
}


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and run the command; return the exit code."""
    import tyro

    command = tyro.extras.subcommand_cli_from_dict(
        {kind.__name__.lower(): kind for kind in _RUN},
        prog="geomndp",
        description="Generative models of functions that respect symmetries.",
        args=arguments,
    )
    for variable in THREADS:
        os.environ.setdefault(variable, "1")
    module, name = _RUN[type(command)]
    try:
        getattr(importlib.import_module(f"geomndp.cli.{module}"), name)(command)
    except (ValueError, FloatingPointError, OSError) as error:
        print(f"geomndp: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("geomndp: stopped; nothing half-written is left", file=sys.stderr)
        return 130
    return 0
