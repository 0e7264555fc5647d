"""Entry point: one clear sentence and a non-zero exit code where something is wrong.

0: done; 1: refused or failed; 2: a command line that cannot be read; 130: stopped by Ctrl-C.
"""

from __future__ import annotations

import importlib
import os
import sys
from importlib.metadata import version
from typing import Any

from geomndp.cli.commands import Demo, Evaluate, List, Reproduce, Train
from geomndp.cli.requests import Condition, Draw, Sample
from geomndp.cli.usage import UsageError, parse

# One thread for XLA on the CPU and for its LAPACK: see docs/decisions.md.
THREADS = ("NPROC", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")

_RUN = {
    Demo: ("demo", "demo"),
    List: ("listing", "list_models"),
    Sample: ("sampling", "sample"),
    Condition: ("sampling", "condition"),
    Train: ("models", "train"),
    Evaluate: ("models", "evaluate"),
    Reproduce: ("tables", "reproduce"),
}
COMMANDS = {kind.__name__.lower(): kind for kind in _RUN}
DESCRIPTION = "Generative models of functions that respect symmetries."
_EXPECTED = (ValueError, ArithmeticError, OSError, RuntimeError, MemoryError, ImportError)


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and run the command; return the exit code."""
    if (sys.argv[1:] if arguments is None else arguments) == ["--version"]:
        print(f"geomndp {version('geomndp')}")
        return 0
    command = None
    try:
        command = parse(arguments, COMMANDS, prog="geomndp", description=DESCRIPTION)
        run(command)
        sys.stdout.flush()
    except BrokenPipeError:
        # Who reads the output has seen enough (geomndp ... | head).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except UsageError as error:
        print(f"geomndp: {error}", file=sys.stderr)
        return 2
    except _EXPECTED as error:
        print(f"geomndp: {_sentence(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt as stop:
        said = str(stop) or f"stopped; {_resume(command)}"
        print(f"geomndp: {said}; nothing half-written is left", file=sys.stderr)
        return 130
    return 0


def run(command: Any) -> None:
    """Run a command that was read."""
    for variable in THREADS:
        os.environ.setdefault(variable, "1")
    module, name = _RUN[type(command)]
    getattr(importlib.import_module(f"geomndp.cli.{module}"), name)(command)


def _sentence(error: BaseException) -> str:
    """What went wrong, on one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, ModuleNotFoundError):
        extras = "pip install 'geomndp[data,plots,train]'"
        return f"expected the package {error.name!r}, got none: {extras}"
    return text if len(text) <= 400 else text[:400] + "..."


def _resume(command: Any) -> str:
    """How to go on after Ctrl-C."""
    if isinstance(command, Draw):
        return "the same command with the same seed gives the same samples"
    if isinstance(command, Evaluate):
        if command.out is None:
            return "with --out FOLDER the same command would go on where it was stopped"
        return f"the same command goes on with the blocks in {command.out}"
    return "run the same command again"
