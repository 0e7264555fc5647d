"""Tables of students beside their teachers, from results of `benchmarks/flow_maps.py`; no JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from geomndp.experiments.table import Table, pair


def report(results: dict) -> list[Table]:
    """Every table for which there are results."""
    return [table for table in (overview(results), *_tables(results)) if table.rows]


def overview(results: dict) -> Table:
    """Median KL of every student whose teacher's functions have an exact law."""
    columns = {
        "one call": "student, 1 calls",
        "four calls": "student, 4 calls",
        "four calls, `noise=1`": "student, 4 calls, noise 1",
        "teacher, 24 steps": "teacher, adams(24)",
    }
    rows = []
    for model, measured in results.get("kl", {}).items():
        found = {row["sampler"]: row["median"] for row in measured["rows"]}
        rows.append((f"{model}-student", *(f"{found[name]:.3f}" for name in columns.values())))
    title = "KL of students to exact posteriors in nats"
    return Table(title, ("model", *columns), rows)


def _tables(results: dict) -> Iterator[Table]:
    def table(
        title: str, part: str, header: tuple[str, ...], cells: Callable[[dict], tuple[str, ...]]
    ) -> Table:
        rows = [
            (model, row["sampler"], *cells(row))
            for model, measured in results.get(part, {}).items()
            for row in measured["rows"]
        ]
        return Table(title, ("model", "sampler", *header), rows)

    header = ("evaluations", "median of the tasks", "mean")
    yield table("KL of samples by the number of calls", "kl", header, _kl)
    header = ("coverage of 50 % intervals", "coverage of 90 % intervals", "CRPS")
    yield table("Calibration of samples by the number of calls", "coverage", header, _calibration)
    header = ("evaluations", "energy score", "relative to 50 steps")
    yield table("Energy scores by the number of calls", "energy", header, _energy)
    header = ("divergence to exact", "exact divergence", "curl to exact", "exact curl")
    yield table("Divergence and curl by the number of calls", "physics", header, _physics)
    header = ("interpolation, km", "extrapolation, km")
    yield table("Energy scores of tracks by the number of calls", "tracks", header, _tracks)
    header = ("compiled program, ms", "posterior.sample, ms")
    yield table("Time of 64 samples at 50 targets", "speed", header, _speed)


def _kl(row: dict) -> tuple[str, ...]:
    median = "" if row["median"] is None else f"{row['median']:.3f}"
    return str(row["evaluations"]), median, pair(row["kl"], 3)


def _calibration(row: dict) -> tuple[str, ...]:
    return tuple(pair(row[key]) for key in ("coverage50", "coverage90", "crps"))


def _energy(row: dict) -> tuple[str, ...]:
    error = "" if row["ratio_error"] is None else f" ± {100 * row['ratio_error']:.2f}"
    change = f"{100 * (row['ratio'] - 1):+.2f}{error} %"
    return str(row["evaluations"]), f"{row['energy_score']:.4f}", change


def _physics(row: dict) -> tuple[str, ...]:
    return tuple(f"{value:.4f}" for key in ("divergence", "curl") for value in row[key])


def _tracks(row: dict) -> tuple[str, ...]:
    return tuple(f"{row[key]['energy']:.1f}" for key in ("interpolation", "extrapolation"))


def _speed(row: dict) -> tuple[str, ...]:
    return tuple(f"{1e3 * row[key]:.2f}" for key in ("program_median", "median"))
