"""`python -m fuzz`: so many cases, from a seed, for so many seconds at most; or one case again."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from random import Random


def main() -> int:
    """Run and report; the exit code says whether something was found."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("--cases", type=int, default=2000, help="cases in this process")
    parser.add_argument("--processes", type=int, default=0, help="further cases as processes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=3600.0, help="stop after so many")
    parser.add_argument("--types", default="", help="types of cases, separated by commas")
    parser.add_argument("--case", default="", help="one case, as a finding names it")
    given = parser.parse_args()
    _settle()
    from fuzz.case_types import CASE_TYPES, PROCESS
    from fuzz.engine import Report, run
    from fuzz.world import make_world

    start = time.monotonic()
    chosen = {k: v for k, v in CASE_TYPES.items() if not given.types or k in given.types.split(",")}

    def plan() -> Iterator[tuple]:
        if given.case:
            name = given.case.partition("/")[0]
            case_type = PROCESS if name == "process" else CASE_TYPES[name]
            yield name, case_type.make, given.case, case_type.share
            return
        random = Random(given.seed)
        weights = [case_type.weight for case_type in chosen.values()]
        for number in range(given.cases):
            name = random.choices(list(chosen), weights)[0]
            yield name, chosen[name].make, f"{name}/{given.seed}/{number}", chosen[name].share
        for number in range(given.processes):
            yield "process", PROCESS.make, f"process/{given.seed}/{number}", PROCESS.share

    def in_time() -> Iterator[tuple]:
        for case in plan():
            if time.monotonic() - start > given.seconds:
                print(f"stopped after {given.seconds:.0f} s")
                return
            yield case

    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        tell = partial(print, flush=True)
        report: Report = run(in_time(), make_world(Path(folder)), tell)
        os.chdir("/")
    _print(report, time.monotonic() - start)
    return 1 if report.findings else 0


def _settle() -> None:
    """One thread, no display, and a compiler that is quick rather than good."""
    for variable in ("NPROC", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, "1")
    os.environ.setdefault("MPLBACKEND", "agg")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")
    os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")
    sys.path.insert(0, str(Path(__file__).parents[1]))


def _print(report, seconds: float) -> None:
    print(f"{'type':<12}{'cases':>8}{'done':>8}{'refused':>9}{'findings':>10}{'seconds':>9}")
    rows = {name: report.outcomes[name] for name in sorted(report.outcomes)}
    for name, counts in rows.items():
        cells = counts.total(), counts["done"], counts["refused"], counts["finding"]
        line = f"{name:<12}" + "".join(
            f"{cell:>{w}}" for cell, w in zip(cells, (8, 8, 9, 10), strict=True)
        )
        print(f"{line}{report.seconds[name]:>9.0f}")
    print(f"{report.cases} cases in {seconds:.0f} s, {len(report.findings)} findings")


if __name__ == "__main__":
    sys.exit(main())
