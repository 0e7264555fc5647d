"""Entry point: one clear sentence and a non-zero exit code where something is wrong.

0: done; 1: refused or failed; 2: a command line that cannot be read; 130: stopped by Ctrl-C.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from importlib.metadata import version
from io import StringIO
from typing import Any

import tyro

from geomndp import _validation
from geomndp._table_files import is_store
from geomndp._warnings import OutsideTrainingWarning
from geomndp.cli import early_checks, input_tables
from geomndp.cli.commands import Demo, Evaluate, List, Play, Reproduce, Train
from geomndp.cli.distil_args import Distil
from geomndp.cli.predict_args import Condition, Predict, Sample
from geomndp.cli.usage_errors import UsageError, usage_mistake

_RUN = {
    Demo: ("demo", "demo"),
    Play: ("play", "play"),
    List: ("list_models", "list_models"),
    Sample: ("predict", "predict"),
    Condition: ("predict", "predict"),
    Train: ("train_evaluate", "train"),
    Distil: ("distil", "distil"),
    Evaluate: ("train_evaluate", "evaluate"),
    Reproduce: ("reproduce", "reproduce"),
}
COMMANDS = {command.__name__.lower(): command for command in _RUN}
DEBUG = "--debug"
DESCRIPTION = (
    "Generative models of functions with the symmetries of a problem built in. "
    f"{DEBUG}, anywhere on the line, shows where in the program an error arose."
)
MAX_LENGTH = 400  # characters of a sentence
RENAMED = {"--at": "--targets", "--error": "--obs-std", "--levels": "--quantiles"}
"""Options of the last release, which keep working for one more."""
_EXPECTED = (ValueError, ArithmeticError, OSError, RuntimeError, MemoryError, ImportError)


def main(arguments: list[str] | None = None) -> int:
    """Parse the command line and run the command.

    Args:
        arguments: Command line without the name of the program; that of the process by default.

    Returns:
        Exit code.
    """
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    line = [token for token in tokens if token != DEBUG]
    if line == ["--version"]:
        print(f"geomndp {version('geomndp')}")
        return 0
    command = None
    try:
        command = parse(line, COMMANDS, prog="geomndp", description=DESCRIPTION)
        with warnings.catch_warnings():
            warnings.showwarning = _warning_printer()
            warnings.simplefilter("always", OutsideTrainingWarning)
            run(command)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader of the output has closed the pipe (geomndp ... | head).
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except UsageError as error:
        return _report_failure(_brief(str(error)), 2, DEBUG in tokens)
    except KeyboardInterrupt as stop:
        reason = str(stop) or f"stopped; {_resume(command)}"
        return _report_failure(f"{reason}; nothing half-written is left", 130, DEBUG in tokens)
    except Exception as error:
        return _report_failure(_sentence(error), 1, DEBUG in tokens)
    return 0


def parse(arguments: Sequence[str] | None, commands: dict[str, type], **options: Any) -> Any:
    """The command with its arguments; `UsageError` in the place of tyro's box."""
    tokens = [_current_name(token) for token in (sys.argv[1:] if arguments is None else arguments)]
    captured = StringIO()
    try:
        with contextlib.redirect_stderr(captured):
            return tyro.extras.subcommand_cli_from_dict(commands, args=tokens, **options)
    except SystemExit as stop:
        if not stop.code:  # help was asked for
            raise
    raise UsageError(usage_mistake(tokens, commands, captured.getvalue()))


def _current_name(token: str) -> str:
    """The new name of an option, with a line that says so."""
    option, equals, value = token.partition("=")
    if option not in RENAMED:
        return token
    new = RENAMED[option]
    print(f"geomndp: warning: {option} is deprecated: use {new}", file=sys.stderr)
    return f"{new}{equals}{value}"


def run(command: Any) -> None:
    """Run a parsed command, after the checks that need no JAX, whose import takes seconds."""
    module, name = _RUN[type(command)]
    if hasattr(command, "seed"):
        _validation.check_seed(command.seed)
    read: tuple[Any, ...] = ()
    if isinstance(command, Predict):
        read = (input_tables.read_tables(command),)
    elif type(command) in early_checks.CHECKS:
        table = early_checks.CHECKS[type(command)](command)
        read = () if table is None else (table,)
    getattr(importlib.import_module(f"geomndp.cli.{module}"), name)(command, *read)


def _report_failure(sentence: str, code: int, debug: bool) -> int:
    """Print what is wrong, with --debug after the traceback, and return the exit code."""
    if debug:
        traceback.print_exc()
    print(f"geomndp: {sentence}", file=sys.stderr)
    return code


def _warning_printer() -> Callable[..., None]:
    """Make a hook that prints each distinct warning once, in one line."""
    shown = set()

    def show(message, category, filename, lineno, file=None, line=None) -> None:
        text = " ".join(str(message).split())
        if text not in shown:
            print(f"geomndp: warning: {text}", file=sys.stderr)
        shown.add(text)

    return show


def _sentence(error: BaseException) -> str:
    """What went wrong, on one line."""
    text = _brief(" ".join(str(error).split()) or type(error).__name__)
    if isinstance(error, ModuleNotFoundError):
        extras = "pip install 'geomndp[data,plots,play,train]'"
        return f"expected the package {error.name!r}, got none: {extras}"
    if isinstance(error, _EXPECTED) and not isinstance(error, RecursionError):
        return text
    how = f"run with {DEBUG} for the traceback, and please report it"
    return f"an unexpected {type(error).__name__}: {text} ({how})"


def _brief(text: str) -> str:
    half = MAX_LENGTH // 2
    return text if len(text) <= MAX_LENGTH else f"{text[:half]} ... {text[-half:]}"


def _resume(command: Any) -> str:
    """How to resume after Ctrl-C."""
    if isinstance(command, Predict) and is_store(command.out):
        return f"the same command resumes from the patches in {command.out}"
    if isinstance(command, Predict):
        return "the same command with the same seed gives the same samples"
    if isinstance(command, Evaluate):
        if command.out is None:
            return "with --out FOLDER the same command would resume from the last block"
        return f"the same command resumes from the blocks in {command.out}"
    return "run the same command again"
