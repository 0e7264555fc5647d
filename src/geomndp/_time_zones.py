"""Datetimes with and without a time zone, which do not mix; pandas and JAX are not imported.

A zoned datetime is a moment; a naive one is what some clock shows, and beside zoned ones nobody
knows which. Columns of a DataFrame are zoned by their type, those of a text file by a note in
`frame.attrs`, since they are kept in UTC without a zone. Datasets know no zones: theirs fit both,
unless an attribute says that they are in UTC, as in the files that are written here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

NOTE = "zoned"
"""Entry of `frame.attrs`: whether all datetimes of a column are zoned, None for some, by name."""
STATED = {"time_zone": "UTC"}
"""Attribute of the variables of a Dataset that were zoned."""
ZONE = re.compile(r"[T ]\d.*(?:Z|[+-]\d\d(?::?\d\d)?)$", re.IGNORECASE)
FIX = (
    "give all a time zone, as 2024-01-01T06:00Z (pandas: tz_localize('Europe/Madrid')), or none "
    "(pandas: tz_convert('UTC').tz_localize(None))"
)


def as_utc(column: Any) -> Any:
    """A Series, whose datetimes lose their zone and are then in UTC."""
    return column.dt.tz_convert("UTC").dt.tz_localize(None) if _zone(column) else column


def _zone(column: Any) -> Any:
    """Time zone of the type of a Series, of pandas or of Arrow."""
    return column.dt.tz if column.dtype.kind == "M" else None


def state_utc(dataset: Any, names: Iterable[str]) -> Any:
    """The Dataset, where those of the variables that are datetimes say that they are in UTC."""
    dated = [name for name in names if dataset[name].dtype.kind == "M"]
    return dataset.assign_coords({n: dataset[n].assign_attrs(STATED) for n in dated})


def states_utc(variable: Any) -> bool:
    """Whether a variable of a Dataset says that its datetimes are in UTC."""
    return variable.dtype.kind == "M" and STATED.items() <= variable.attrs.items()


def dataset_is_zoned(dataset: Any, names: Iterable[str]) -> bool | None:
    """Whether datetimes of a Dataset are stated to be in UTC; None where nothing is stated."""
    return any(name in dataset and states_utc(dataset[name]) for name in names) or None


def is_zoned(text: str) -> bool:
    """Whether a datetime in ISO 8601 states a zone, as "2024-01-01T06:00+01:00" does."""
    return ZONE.search(text.strip()) is not None


def all_zoned(texts: Iterable[str]) -> bool | None:
    """Whether datetimes state a zone; None where some do and some do not."""
    found = {is_zoned(text) for text in texts}
    return None if len(found) > 1 else found == {True}


def frame_is_zoned(frame: Any, columns: dict[str, Any]) -> bool | None:
    """Whether the datetimes of a DataFrame are zoned.

    Args:
        frame: The DataFrame.
        columns: The Series that matter, by name.

    Returns:
        None where there are no datetimes.

    Raises:
        ValueError: If some are zoned and some are not.
    """
    noted, states = frame.attrs.get(NOTE) or {}, {}
    for name, column in columns.items():
        if column.dtype.kind == "M":
            states[name] = _zone(column) is not None or noted.get(name, False)
    for name, zoned in states.items():
        if zoned is None or zoned != next(iter(states.values())):
            where = " and ".join(map(repr, states)) if zoned is not None else repr(name)
            raise ValueError(
                f"expected datetimes in {where} all with a time zone or all without, got both; "
                + FIX
            )
    return next(iter(states.values()), None)


def check_together(what: str, zoned: bool | None, others: str, others_zoned: bool | None) -> None:
    """Refuse zoned datetimes beside naive ones; None fits both."""
    if None not in (zoned, others_zoned) and zoned != others_zoned:
        words = {True: "with", False: "without"}
        raise ValueError(
            f"expected datetimes of {what} {words[bool(others_zoned)]} a time zone as those of "
            f"{others}, got {words[bool(zoned)]}; {FIX}"
        )


class TimeOrigin(str):
    """Moment (ISO 8601, UTC) from which the datetimes of a table count, with what it comes from.

    Attributes:
        zoned: Whether the datetimes of that table are zoned, None where that is not known.
    """

    zoned: bool | None

    def __new__(cls, moment: Any, zoned: bool | None) -> TimeOrigin:
        """Moment as a text."""
        origin = super().__new__(cls, moment)
        origin.zoned = zoned
        return origin

    def __reduce__(self) -> tuple[type[TimeOrigin], tuple[str, bool | None]]:
        """How a copy is made, in another process too."""
        return type(self), (str(self), self.zoned)


def check_origin(zoned: bool | None, origin: str | None) -> None:
    """Refuse datetimes that count from those of a table, zoned beside naive ones.

    An origin that was given, a plain text, fits both.
    """
    of_observations = origin.zoned if isinstance(origin, TimeOrigin) else None
    check_together("the locations", zoned, "the observations", of_observations)
