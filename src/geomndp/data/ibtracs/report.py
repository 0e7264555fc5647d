"""Report of rows and cells that could not be read; nothing is dropped in silence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple


class ReadProblem(NamedTuple):
    """One row (or one of its cells) that could not be read, or was left out.

    Attributes:
        row: Its location: `line 17`, or `storm 3, point 12` in a NetCDF file.
        sid: Identifier of the storm.
        reason: What is wrong.
        value: The cell as it stands.
        dropped: True where the row was left out, False where one cell became a blank.
    """

    row: str
    sid: str
    reason: str
    value: str
    dropped: bool


@dataclass(frozen=True)
class ReadReport:
    """Counts of what was read from one file or several, and all problems.

    Attributes:
        sources: Names of the files.
        rows: Rows of data in the files, readable or not.
        kept: Rows that were kept.
        problems: Rows and cells that could not be read.
    """

    sources: tuple[str, ...]
    rows: int
    kept: int
    problems: tuple[ReadProblem, ...] = field(repr=False)

    def __post_init__(self):
        dropped = sum(problem.dropped for problem in self.problems)
        if self.kept + dropped != self.rows:
            raise ValueError(
                f"expected kept + dropped = {self.rows} rows, got {self.kept} + {dropped}"
            )

    @property
    def counts(self) -> dict[str, int]:
        """Number of problems by reason, most frequent first."""
        return dict(Counter(problem.reason for problem in self.problems).most_common())

    def __add__(self, other: ReadReport) -> ReadReport:
        return ReadReport(
            self.sources + other.sources,
            self.rows + other.rows,
            self.kept + other.kept,
            self.problems + other.problems,
        )

    def __str__(self) -> str:
        lines = [f"{self.kept} of {self.rows} rows read from {', '.join(self.sources)}"]
        for reason, count in self.counts.items():
            first = next(problem for problem in self.problems if problem.reason == reason)
            where = f"{first.row}, {first.sid or 'no storm'}: {first.value!r}"
            lines.append(f"  {count} x {reason} (first: {where})")
        return "\n".join(lines)
