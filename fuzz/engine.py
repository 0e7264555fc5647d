"""Runs cases, makes findings small, and counts."""

from __future__ import annotations

import faulthandler
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from fuzz.judge import Finding
from fuzz.twists import Twister
from fuzz.world import World

LONGEST = 180  # seconds of one case, after which the process is ended with a traceback
EVERY = 1000  # cases between two lines of progress
MakeCase = Callable[[Twister, World], tuple[dict[str, Any], Callable[[], str]]]


@dataclass
class Report:
    """What a run saw."""

    outcomes: dict[str, Counter] = field(default_factory=dict)
    findings: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    @property
    def cases(self) -> int:
        return sum(count.total() for count in self.outcomes.values())


def run_case(
    make: MakeCase, case: str, world: World, share: float, only=None
) -> tuple[str, Twister]:
    """One case; raises its finding."""
    twist = Twister(case, share, only)
    _, call = make(twist, world)
    return call(), twist


def minimised(make: MakeCase, case: str, world: World, share: float) -> tuple[list[str], dict, str]:
    """Fewest twists that still give a finding, what they make, and the finding."""
    twist = Twister(case, share)
    given, _ = make(twist, world)
    kept, said = list(twist.made), ""
    for name in [None, *twist.made]:
        fewer = [other for other in kept if other != name]
        try:
            run_case(make, case, world, share, frozenset(fewer))
        except Finding as finding:
            kept, said = fewer, str(finding)
            given, _ = make(Twister(case, share, frozenset(kept)), world)
    return kept, given, said


def run(cases: Iterator[tuple[str, MakeCase, str, float]], world: World, tell=print) -> Report:
    """Run all cases and say what was found."""
    report = Report()
    warnings.simplefilter("ignore")
    faulthandler.enable()
    for name, make, case, share in cases:
        counts = report.outcomes.setdefault(name, Counter())
        start = time.monotonic()
        faulthandler.dump_traceback_later(LONGEST, exit=True)
        try:
            outcome, _ = run_case(make, case, world, share)
        except Finding as finding:
            outcome = "finding"
            kept, given, said = minimised(make, case, world, share)
            said = said or f"{finding} (the first time only)"
            report.findings[case] = said
            tell(f"FINDING {case}: {said}\n  twisted: {kept}\n  {_shown(given)}")
        except Exception:
            outcome = "finding"
            report.findings[case] = traceback.format_exc()
            tell(f"FINDING {case}: the case itself failed\n{report.findings[case]}")
        faulthandler.cancel_dump_traceback_later()
        counts[outcome] += 1
        if report.cases % EVERY == 0:
            tell(f"{report.cases} cases, {len(report.findings)} findings")
        report.seconds[name] = report.seconds.get(name, 0.0) + time.monotonic() - start
    return report


def _shown(given: dict[str, Any]) -> str:
    parts = {name: " ".join(_text(value).split())[:200] for name, value in given.items()}
    return "\n  ".join(f"{name} = {text}" for name, text in parts.items())


def _text(value: Any) -> str:
    """Not every Dataset survives its own `repr`: one of a single pandas value crashes Python."""
    if type(value).__name__ != "Dataset":
        return repr(value)
    return ", ".join(
        f"{name} {array.dims} {array.dtype}" for name, array in value.variables.items()
    )
