"""Every command that a page or a docstring shows is one that exists, and the quick ones are run."""

import argparse
import ast
import functools
import importlib.util
import re
import runpy
import sys
import tomllib
from pathlib import Path

import pytest
import tyro

import geomndp
from geomndp.cli.main import COMMANDS, parse
from geomndp.cli.usage_errors import UsageError
from geomndp.experiments import registry

from .commands import ROOT, START, Command, commands, pages, scripts
from .quick_commands import run_quickly

SHOWN = {path.relative_to(ROOT).as_posix(): commands(path) for path in [*pages(), *scripts()]}
SHOWN = {name: found for name, found in SHOWN.items() if found}
TUTORIALS = "docs/tutorials/"  # run after their Python code, by test_docs.py


class Read(Exception):
    """Arguments were read; what they are for is not done."""


def check(command: Command, monkeypatch) -> None:
    """Refuse a command that could not be run as it is shown."""
    program, *words = command.words
    if program == "python" and words[0] == "-m":
        spec = importlib.util.find_spec(words[1])
        assert spec is not None and spec.origin is not None
        check_script(Path(spec.origin), words[2:], monkeypatch, module=words[1])
    elif program == "python":
        check_script(ROOT / words[0], words[1:], monkeypatch)
    else:
        {"geomndp": check_geomndp, "make": check_make, "pip": check_pip}[program](command)


def check_geomndp(command: Command) -> None:
    words = command.words[1:]
    if "|" in words:
        assert words[1::2] == ["|"] * (len(words) // 2) and set(words[::2]) == set(COMMANDS)
    elif not command.whole and len(words) == 1:
        assert words[0] in COMMANDS
    elif "--help" in words:
        with pytest.raises(SystemExit):
            parse(words, COMMANDS)
    else:
        read = parse(words, COMMANDS)
        known = registry.models()
        name = getattr(read, "name", "NAME")
        assert name.split("/")[0] not in {model.split("/")[0] for model in known} or name in known
        assert getattr(read, "table", "cyclones") in registry.EXPERIMENTS


def check_make(command: Command) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for word in command.words[1:]:
        variable, equals, _ = word.partition("=")
        known = f"$({variable})" if equals else f"\n{word}:"
        assert known in makefile, f"the Makefile has no {word}"


def check_pip(command: Command) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert command.words[1] == "install"
    name, extras = re.fullmatch(r"([\w.-]+)\[([\w,]+)\]", command.words[-1]).groups()
    assert name in (".", project["name"])
    assert set(extras.split(",")) <= set(project["optional-dependencies"])


def check_script(path: Path, words: list[str], monkeypatch, module: str | None = None) -> None:
    """Let a script, or a module, read its arguments and stop there."""
    assert path.is_file()
    source = path.read_text(encoding="utf-8")
    if "argparse" not in source and "tyro.cli" not in source:
        return
    parse_args, cli = argparse.ArgumentParser.parse_args, tyro.cli

    def parse_and_stop(self, *given, **options):
        parse_args(self, *given, **options)
        raise Read

    def cli_and_stop(function):
        @functools.wraps(function)
        def stop(*given, **options):
            raise Read

        return cli(stop)

    with monkeypatch.context() as patch:
        patch.setattr(argparse.ArgumentParser, "parse_args", parse_and_stop)
        patch.setattr(tyro, "cli", cli_and_stop)
        patch.setattr(sys, "argv", [path.name, *words])
        patch.syspath_prepend(path.parent)
        with pytest.raises(Read):
            if module is None:
                runpy.run_path(str(path), run_name="__main__")
            else:
                patch.delitem(sys.modules, module, raising=False)  # run afresh, as `python -m` does
                runpy.run_module(module, run_name="__main__")


@pytest.mark.parametrize("name", SHOWN)
def test_every_command_can_be_read(name, monkeypatch):
    for command in SHOWN[name]:
        check(command, monkeypatch)


@pytest.mark.parametrize("name", [name for name in SHOWN if not name.startswith(TUTORIALS)])
def test_quick_commands_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_quickly(SHOWN[name])


def test_there_are_commands_to_run(tmp_path, monkeypatch):
    """The files of the commands show at least one each, and help says which can be run at once."""
    monkeypatch.chdir(tmp_path)
    shown = {command.words[1] for command in SHOWN["src/geomndp/cli/commands.py"]}
    for file in ("predict_args", "distil_args"):
        shown |= {c.words[1] for c in SHOWN[f"src/geomndp/cli/{file}.py"] if c.whole}
    assert shown == set(COMMANDS)
    assert run_quickly(SHOWN["src/geomndp/cli/commands.py"]) == 3


WRONG = [
    "geomndp condition regression1d/se a.csv --targts 0:1:0.1",
    "geomndp train regression1d/sea --steps 5",
    "geomndp reproduce table9",
    "geomndp sail",
    "make tea",
    "make demo STEP=3",
    'pip install "geomndp[apps]"',
    "python benchmarks/nothing.py",
    "python benchmarks/scaling.py --least 3",
    "python examples/own_data.py --in a",
    "python -m geomndp.experiments.nothing runs",
    "python -m geomndp.experiments.vector_fields.measure --out results.json",
]


@pytest.mark.parametrize("line", WRONG)
def test_a_wrong_command_would_be_seen(line, monkeypatch, tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"Do this:\n\n```bash\n{line}  # why\n```\n")
    (command,) = commands(page)
    with pytest.raises((AssertionError, UsageError, SystemExit)):
        check(command, monkeypatch)


def test_commands_are_found_wherever_they_stand(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "Run `make\ndemo` or:\n\n    geomndp list\n    x = 1\n\n```python\nmake = 1\n```\n"
        "```bash\n.venv/bin/python a.py \\\n  --b 'c d'\n```\n"
    )
    found = [(command.words, command.whole) for command in commands(page)]
    assert found == [
        (["make", "demo"], False),
        (["geomndp", "list"], True),
        (["python", "a.py", "--b", "c d"], True),
    ]


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_names_of_the_package_exist(path):
    """Every `gn.part.name` of a page."""
    text = path.read_text(encoding="utf-8")
    for dotted in set(re.findall(r"(?<![\w.])gn((?:\.[A-Za-z]\w*)+)", text)):
        functools.reduce(getattr, dotted[1:].split("."), geomndp)


def test_indented_code_uses_what_there_is():
    """Python that is shown but needs an archive: its imports, and what it takes of modules."""
    found = 0
    for path in pages():
        lines = re.findall(r"^ {4}(\S.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        if not any(line.startswith("from geomndp") for line in lines):
            continue
        tree = ast.parse("\n".join(line for line in lines if not START.match(line)))
        names: dict = {}
        imports = [node for node in tree.body if isinstance(node, ast.ImportFrom)]
        exec("\n".join(map(ast.unparse, imports)), names)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                getattr(names[node.value.id], node.attr)
                found += 1
    assert found
