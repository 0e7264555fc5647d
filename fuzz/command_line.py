"""Command lines with tokens lost, doubled, misspelt or replaced, here or as real processes."""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

from fuzz.bytes import damaged
from fuzz.calls import Attempt
from fuzz.judge import Finding, judge_line
from fuzz.twists import Twister
from fuzz.values import TEXTS
from fuzz.world import World
from geomndp.cli import main

FEW = "--num-samples 2 --steps 2"
LINES = (
    f"sample mast --targets 0:6:3 {FEW}",
    f"sample winds --targets x=0:1:2pts y=0:1:2pts {FEW}",
    f"sample tracks --targets 0:1:0.5 {FEW}",
    f"condition mast mast.csv --targets 0:6:3 {FEW} --obs-std 0.1",
    f"condition mast mast.csv --targets 0:6:3 {FEW} --obs-std sd --out made/a.csv",
    f"condition mast mast.parquet --targets mast.csv {FEW} --summary --quantiles 0.1 0.9",
    f"condition winds winds.csv --targets x=0:1:2pts y=0:1:2pts {FEW} --out a.geojson",
    f"condition tracks tracks.csv --targets 0:1:0.5 {FEW} --obs-std 20 --out a.nc",
    f"condition tracks tracks.csv --targets 2031-09-12/2031-09-13/12h {FEW} "
    "--columns lat=lat --json",
    "list --json",
    "--version",
)
REFUSED = (
    "evaluate nope --num 2 --region interpolation --route joint",
    "train nope --steps 2 --out run --net {}",
    "reproduce nope --no-figures --num 2 --results mast.csv",
    "condition nope mast.csv --targets 0:1:0.5",
    "condition mast nothing.csv --targets 0:1:0.5",
    "sample nameless.csv --targets nothing.nc --out a.xlsx",
)
NAMES = "mast winds tracks mast.csv mast.nc tracks.parquet nothing.csv . .. / /dev/null a.nc a.csv"
RANGES = (
    "0:1:0pts 1:0:0.1 0:1:nan inf:1:3pts 0:1:1e-9 0:1 : :: 0,1,2 x=0:1:2pts -1 1e99 NaN time=0:6:3 "
    "2024-01-01/2023-01-01/6h 2024-01-01/2024-01-02/0h //x"
)
OPTIONS = (
    "--targets --seed --json --summary --no-summary --out --columns --obs-std --debugg "
    "--help-me --quantiles --sampler --at --error "
    "-- - --=3 =x @x"
)
ODD = (*TEXTS, *NAMES.split(), *RANGES.split(), *OPTIONS.split())
HEAVY = {"demo", "train", "evaluate", "reproduce"}
ROOT = Path(__file__).parents[1]


def line(twist: Twister, world: World) -> Attempt:
    """A command line in this process."""
    tokens = _tokens(twist)
    damage = twist("file", {}, lambda r: _damage(r, world))
    return {"line": tokens, "damage": damage}, lambda: _watched(
        world, damage, lambda: _call(tokens)
    )


def process(twist: Twister, world: World) -> Attempt:
    """A command line as a user's shell starts it."""
    tokens = [token for token in _tokens(twist) if "\x00" not in token]
    damage = twist("file", {}, lambda r: _damage(r, world))
    return {"line": tokens, "damage": damage}, lambda: _watched(
        world, damage, lambda: _start(tokens)
    )


def _tokens(twist: Twister) -> list[str]:
    tokens = twist.pick("line", [*LINES, *LINES, *REFUSED]).split()
    for number in range(3):
        before = list(tokens)
        tokens = twist(f"token {number}", tokens, lambda r, before=before: _odd(r, before))
    return _light(tokens)


def _odd(random: Random, tokens: list[str]) -> list[str]:
    """The line with one token lost, doubled, replaced, misspelt or put elsewhere."""
    place = random.randrange(len(tokens)) if tokens else 0
    word = random.choice(ODD)
    how = random.randrange(6)
    if how == 0:
        return tokens[:place] + tokens[place + 1 :]
    if how == 1:
        return [*tokens[:place], word, *tokens[place:]]
    if how == 2:
        return [*tokens[:place], tokens[place], *tokens[place:]]
    if how == 3:
        letters = list(tokens[place])
        spot = random.randrange(len(letters) or 1)
        letters[spot : spot + 2] = reversed(letters[spot : spot + 2])
        return [*tokens[:place], "".join(letters), *tokens[place + 1 :]]
    if how == 4:
        return random.sample(tokens, len(tokens))
    return [*tokens[:place], word, *tokens[place + 1 :]]


def _light(tokens: list[str]) -> list[str]:
    """Nothing that would measure, train or draw figures for minutes."""
    if HEAVY & set(tokens):
        return [
            f"{token}x" if token.startswith(("regression", "vector", "cyclones")) else token
            for token in tokens
        ]
    return tokens


def _damage(random: Random, world: World) -> dict[Path, bytes]:
    """One of the files, damaged."""
    endings = ("csv", "csv", "csv", "parquet", "nc")
    path = world.folder / f"{random.choice(['mast', 'winds', 'tracks'])}.{random.choice(endings)}"
    return {path: damaged(random, world.files[path])}


def _watched(
    world: World, damage: dict[Path, bytes], call: Callable[[], tuple[int, str, str]]
) -> str:
    """Judge streams and what is left in the folder; leave it as it was."""
    for path, content in damage.items():
        path.write_bytes(content)
    try:
        code, out, error = call()
        found = judge_line(code, out, error)
        new = world.new()
        if code and new:
            raise Finding(f"exit code {code}, and files left: {new}")
        if hidden := [name for name in new if Path(name).name.startswith(".")]:
            raise Finding(f"temporary files left: {hidden}")
    finally:
        world.mend()
    return found


def _call(tokens: list[str]) -> tuple[int, str, str]:
    out, error = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(error):
        try:
            code = main(tokens)
        except SystemExit as stop:  # help
            code = int(stop.code or 0)
        except BaseException as caught:
            raise Finding(f"{type(caught).__name__} left main: {str(caught)[:300]}") from caught
    return code, out.getvalue(), error.getvalue()


def _start(tokens: list[str]) -> tuple[int, str, str]:
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    command = [sys.executable, "-m", "geomndp.cli", *tokens]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment, errors="replace"
    )
    return done.returncode, done.stdout, done.stderr
