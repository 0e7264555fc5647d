"""Entry point: one clear sentence and a non-zero exit code where something is wrong.

0: done; 1: refused or failed; 2: a command line that cannot be read; 130: stopped by Ctrl-C.
"""

from __future__ import annotations

import importlib
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

from geomndp._warnings import OutsideTrainingWarning
from geomndp.cli import early_checks
from geomndp.cli.commands import Demo, Evaluate, List, Reproduce, Train
from geomndp.cli.predict_args import Condition, Predict, Sample
from geomndp.cli.usage_errors import UsageError, parse

# One thread for XLA on the CPU and for its LAPACK: see docs/decisions.md.
THREADS = ("NPROC", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")

_RUN = {
    Demo: ("demo", "demo"),
    List: ("list_models", "list_models"),
    Sample: ("predict", "predict"),
    Condition: ("predict", "predict"),
    Train: ("train_evaluate", "train"),
    Evaluate: ("train_evaluate", "evaluate"),
    Reproduce: ("reproduce", "reproduce"),
}
COMMANDS = {kind.__name__.lower(): kind for kind in _RUN}
DEBUG = "--debug"
DESCRIPTION = (
    "Generative models of functions that respect symmetries. "
    f"{DEBUG}, anywhere on the line, shows where in the program an error arose."
)
LONGEST = 400  # characters of a sentence
_EXPECTED = (ValueError, ArithmeticError, OSError, RuntimeError, MemoryError, ImportError)


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and run the command; return the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    line = [token for token in given if token != DEBUG]
    if line == ["--version"]:
        print(f"geomndp {version('geomndp')}")
        return 0
    command = None
    try:
        command = parse(line, COMMANDS, prog="geomndp", description=DESCRIPTION)
        with warnings.catch_warnings():
            warnings.showwarning = _shown_once()
            warnings.simplefilter("always", OutsideTrainingWarning)
            run(command)
        sys.stdout.flush()
    except BrokenPipeError:
        # Who reads the output has seen enough (geomndp ... | head).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except UsageError as error:
        return _failed(_brief(str(error)), 2, DEBUG in given)
    except KeyboardInterrupt as stop:
        said = str(stop) or f"stopped; {_resume(command)}"
        return _failed(f"{said}; nothing half-written is left", 130, DEBUG in given)
    except Exception as error:
        return _failed(_sentence(error), 1, DEBUG in given)
    return 0


def run(command: Any) -> None:
    """Run a command that was read; what can be refused without JAX is refused before its import."""
    for variable in THREADS:
        os.environ.setdefault(variable, "1")
    module, name = _RUN[type(command)]
    read: tuple[early_checks.Tables, ...] = ()
    if isinstance(command, Predict):
        read = (early_checks.read_tables(command),)
    elif type(command) in early_checks.CHECKS:
        early_checks.CHECKS[type(command)](command)
    getattr(importlib.import_module(f"geomndp.cli.{module}"), name)(command, *read)


def _failed(sentence: str, code: int, debug: bool) -> int:
    """Say what is wrong, after the traceback if it is asked for."""
    if debug:
        traceback.print_exc()
    print(f"geomndp: {sentence}", file=sys.stderr)
    return code


def _shown_once() -> Callable[..., None]:
    """Show a warning in one line, as errors are; the same words once for all batches of samples."""
    shown = set()

    def show(message, category, filename, lineno, file=None, line=None) -> None:
        said = " ".join(str(message).split())
        if said not in shown:
            print(f"geomndp: warning: {said}", file=sys.stderr)
        shown.add(said)

    return show


def _sentence(error: BaseException) -> str:
    """What went wrong, on one line."""
    text = _brief(" ".join(str(error).split()) or type(error).__name__)
    if isinstance(error, ModuleNotFoundError):
        extras = "pip install 'geomndp[data,plots,train]'"
        return f"expected the package {error.name!r}, got none: {extras}"
    if isinstance(error, _EXPECTED) and not isinstance(error, RecursionError):
        return text
    how = f"run with {DEBUG} for the traceback, and please report it"
    return f"an unexpected {type(error).__name__}: {text} ({how})"


def _brief(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"


def _resume(command: Any) -> str:
    """How to resume after Ctrl-C."""
    if isinstance(command, Predict):
        return "the same command with the same seed gives the same samples"
    if isinstance(command, Evaluate):
        if command.out is None:
            return "with --out FOLDER the same command would resume from the last block"
        return f"the same command resumes from the blocks in {command.out}"
    return "run the same command again"
