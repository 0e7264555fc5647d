"""Wrong usage in one sentence: no such command or option, an argument missing or unreadable."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import MISSING, fields
from difflib import get_close_matches
from typing import Annotated, Any, get_args, get_origin, get_type_hints

from tyro.conf import Positional

FRAME = re.compile(r"^[\s|│+╭╰─-]+|[\s|│+╮╯─-]+$")
OPTION = re.compile(r"--?[a-zA-Z]")
OTHER_WORDS = {
    **dict.fromkeys(("noise", "sd", "std", "sigma", "errors"), "obs-std"),
    **dict.fromkeys(("n", "samples", "draws", "nsamples"), "num-samples"),
    **dict.fromkeys(("o", "output", "file", "save"), "out"),
    **dict.fromkeys(("x", "grid", "locations", "where"), "targets"),
}
"""What others call an option."""
NUMBER_TYPES = {int: "a whole number", float: "a number"}


class UsageError(Exception):
    """A command line that cannot be read."""


def usage_mistake(tokens: list[str], commands: dict[str, type], message: str) -> str:
    """What is wrong with a command line that tyro refused, in one sentence."""
    listed = ", ".join(commands)
    if not tokens or tokens[0] not in commands:
        near = _nearest(tokens[0], list(commands)) if tokens else ""
        got = f"{tokens[0]!r}{near}" if tokens else "none"
        return f"expected a command ({listed}), got {got}; see geomndp --help"
    name, rest = tokens[0], tokens[1:]
    command = commands[name]
    mistake = next(_mistakes(command, rest), None)
    # What tyro says is the last resort: the first line inside its box.
    lines = [FRAME.sub("", line) for line in message.splitlines()[1:]]
    text = mistake or next((line for line in lines if line), "expected other arguments")
    return f"{text.rstrip('.')}; see geomndp {name} --help"


def _mistakes(command: type, rest: list[str]) -> Iterator[str]:
    """What is wrong with the arguments of a command, in the order in which to say it."""
    known, hints = options(command), get_type_hints(command, include_extras=True)
    rest = [part for token in rest for part in _split(token)]
    named = {token: known.get(token.replace("_", "-")) for token in rest if OPTION.match(token)}
    for option, name in named.items():
        if name is None:
            near = _nearest(option, [*known, "--help", "--debug"])
            yield f"expected an option of this command, got {option!r}{near}"
    positional = {name: word for name, hint in hints.items() if (word := _word(hint))}
    first = next((i for i, token in enumerate(rest) if token.startswith("--")), len(rest))
    for token, value in zip(rest, [*rest[1:], ""], strict=False):
        name = named.get(token)
        # An argument may stand after a flag.
        if name is None or (hints[name] is bool and first < len(positional)):
            continue
        if wrong := _wrong_value(hints[name], token, value):
            yield wrong
    lacking = [
        f"expected --{field.name.replace('_', '-')}, got none"
        for field in fields(command)
        if field.default is MISSING and field.name not in {*positional, *named.values()}
    ]
    free = [token for token in rest if not token.startswith("--")]
    optional = {field.name for field in fields(command) if field.default is not MISSING}
    fewest = len(set(positional) - optional)
    if len(free) >= fewest:  # they may all be there, though not where they belong
        yield from lacking
    if not fewest <= first <= len(positional):
        wanted = " and ".join(positional.values()) or "no argument"
        yield f"expected {wanted} before the options, got {' '.join(rest[:first]) or 'none'}"


def options(command: type) -> dict[str, str]:
    """Fields of a command by their options."""
    hints = get_type_hints(command, include_extras=True)
    named = {name: name.replace("_", "-") for name, hint in hints.items() if not _word(hint)}
    by_option = {f"--{word}": name for name, word in named.items()}
    return by_option | {f"--no-{word}": name for name, word in named.items() if hints[name] is bool}


def _split(token: str) -> list[str]:
    """Option and value of "--seed=1"."""
    return token.split("=", 1) if token.startswith("--") else [token]


def _wrong_value(hint: Any, option: str, value: str) -> str:
    """What is wrong with the value of an option; nothing if it may be right."""
    none = not value or OPTION.match(value)
    if hint is bool:
        return "" if none else f"expected no value after {option}, got {value!r}"
    for number_type, words in NUMBER_TYPES.items():
        if hint in (number_type, number_type | None):
            try:
                number_type(value)
            except ValueError:
                return f"expected {option} to be {words}, got {'none' if none else repr(value)}"
    return f"expected a value after {option}, got none" if none and "tuple" not in str(hint) else ""


def _word(hint: Any) -> str:
    """Name of a positional argument in the help; empty for options."""
    annotations = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
    if get_args(Positional[str])[1] not in annotations:
        return ""
    return next((part.metavar for part in annotations if hasattr(part, "metavar")), "an argument")


def _nearest(text: str, known: list[str]) -> str:
    """What may have been meant: another word for it, its beginning, or a similar one."""
    named = {name.lstrip("-"): name for name in known}
    plain = text.lstrip("-").replace("_", "-").lower()
    if not plain.startswith("no"):
        named = {word: name for word, name in named.items() if not word.startswith("no-")}
    meant = [word for word in (OTHER_WORDS.get(plain, ""),) if word in named]
    begun = [word for word in named if word.startswith(plain)]
    near = [*meant, *begun, *get_close_matches(plain, list(named), n=1)]
    return f" (did you mean {named[near[0]]}?)" if near else ""
