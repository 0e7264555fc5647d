"""Times of any century and precision as numbers, and the dates and units that CF writes."""

import copy
import pickle
from datetime import datetime, timedelta, timezone

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geomndp._table_files import read_table
from geomndp.model.units import read_target_inputs
from geomndp.tables import Variable, Variables, read_functions, read_inputs
from geomndp.tables.units import duration, per_function, seconds_since, split_time
from geomndp.tables.variables import canonical, check_same

ANCIENT = np.array(["0850-01-01", "1500-01-01", "2000-01-01"], "datetime64[s]")
DAYS = [0.0, 237407.0, 420028.0]  # as datetime.date has them


def days_of(values, units="days"):
    variables = Variables((Variable("time", units),), (Variable("y"),))
    return read_inputs(variables, pd.DataFrame({"time": values})).x[:, 0]


@pytest.mark.parametrize("unit", ["s", "ms", "us"])
def test_a_millennium_does_not_wrap(unit):
    times = ANCIENT.astype(f"datetime64[{unit}]")
    assert_allclose(days_of(times), DAYS, rtol=1e-15)
    for elapsed in (True, False):
        found, words = per_function(times[None], elapsed)
        assert_allclose(found[0], DAYS, rtol=1e-15)
    assert words == "days since 0850-01-01 00:00:00"
    assert_allclose(days_of(times, words), DAYS, rtol=1e-15)


def test_nanoseconds_further_apart_than_64_bits():
    """Both moments are nanoseconds, their difference is not."""
    times = np.array(["1700-01-01", "2200-01-01"], "datetime64[ns]")
    assert_allclose(days_of(times), [0.0, 182621.0])
    start = np.datetime64("0001-01-01", "us")
    assert_allclose(seconds_since(times[1:], start) / 86400, 803168.0)


def test_parts_of_seconds_and_missing_times():
    times = np.array(["1969-12-31T23:59:59.25", "NaT", "1970-01-01T00:00:00.5"], "datetime64[ns]")
    found = seconds_since(times, np.datetime64("1969-12-31T23:59:58.125", "ms"))
    assert_array_equal(found, [1.125, np.nan, 2.375])
    gaps = np.array([["NaT", 1500, 3000]], "timedelta64[ms]")
    assert_array_equal(per_function(gaps, True)[0], [[np.nan, 1.5, 3.0]])


@pytest.mark.parametrize(
    ("text", "date"),
    [
        ("0001-01-01", "0001-01-01"),
        ("1-1-1 00:00:00", "0001-01-01"),
        ("1900-1-1", "1900-01-01"),
        ("1900-1-1  6:5:0.5", "1900-01-01T06:05:00.5"),
        ("1900-01-01T00:00Z", "1900-01-01"),
        ("1900-01-01 00:00:00 UTC", "1900-01-01"),
        ("2000", "2000-01-01"),
    ],
)
def test_dates_of_cf(text, date):
    assert split_time(f"days since {text}") == ("days", np.datetime64(date))
    assert duration("time", f"hours since {text}", f"days since {date}") == 1 / 24


@pytest.mark.parametrize("text", ["now", "NaT", "1900-13-1", "  ", "the flood"])
def test_what_is_no_date_is_refused(text):
    with pytest.raises(ValueError, match="expected a date in the units"):
        split_time(f"days since {text}")


def test_capitals_matter_except_in_known_words():
    for other in ("MPa", "mpa"):
        with pytest.raises(ValueError, match=f"expected 'stress' in 'mPa', got '{other}'"):
            check_same("stress", other, "mPa")
    assert canonical("S") != canonical("s") == canonical("Seconds") == "seconds"
    assert canonical("M") != canonical("Metres") == "m" and canonical("K") == canonical("Kelvin")
    check_same("t", "DegC", "celsius")
    check_same("lat", "Degrees_North", "degrees_N")


def test_datetimes_count_from_the_origin_that_is_given(tracks, fixes):
    """A storm seen first when it is two days old; datetimes to come are of the same age."""
    zoned = datetime(2024, 8, 29, 18, tzinfo=timezone(timedelta(hours=-6)))
    texts = ("2024-08-30", "2024-08-30T00:00Z", "2024-08-29 18:00:00-06:00")
    for born in (*texts, np.datetime64("2024-08-30"), pd.Timestamp("2024-08-30"), zoned):
        posterior = tracks.condition(fixes, time_origin=born)
        assert_allclose(posterior.observations.x[:, 0], [2.0, 2.25, 2.5, 2.75])
        assert_allclose(read_target_inputs(posterior, fixes)[:, 0], [2.0, 2.25, 2.5, 2.75])
    numbers = fixes.reset_index(drop=True).assign(time=[2.0, 2.25, 2.5, 2.75])
    posterior = tracks.condition(numbers, time_origin="2024-08-30")
    assert_allclose(read_target_inputs(posterior, fixes), posterior.observations.x)


def test_laws_without_observations_count_from_an_origin_too(tracks, fixes, getkey):
    """From the earliest location without."""
    for time_origin, ages in (
        ("2024-08-30", [2.0, 2.25, 2.5, 2.75]),
        (None, [0.0, 0.25, 0.5, 0.75]),
    ):
        law = tracks.condition(time_origin=time_origin)
        assert_allclose(read_target_inputs(law, fixes)[:, 0], ages)
    for method, options in ((tracks.sample, {"key": getkey()}), (tracks.log_prob, {})):
        with pytest.raises(ValueError, match="expected time_origin to be a datetime, got 'birth'"):
            method(fixes, time_origin="birth", **options)


def test_wrong_origins(tracks, fixes):
    for wrong in ("birth", "2024-13-30T00:00Z", "now", "3", "2024", 3, np.datetime64("NaT")):
        with pytest.raises(ValueError, match="expected time_origin to be a datetime, got"):
            tracks.condition(fixes, time_origin=wrong)
    for units in ("days since 2000-01-01", "km"):
        other = tracks.with_variables("time", ("lat", "lon"), units={"time": units})
        with pytest.raises(ValueError, match="expected an input in days, hours"):
            other.condition(fixes, time_origin="2024-08-30")


def test_naive_and_zoned_datetimes_do_not_mix(tracks, fixes):
    """Observations and targets in one: both as they are, or both with a zone."""
    fixes = fixes.reset_index() if "time" not in fixes else fixes
    zoned = fixes.assign(time=fixes.time.dt.tz_localize("Europe/Madrid"))
    later = zoned.assign(time=zoned.time.dt.tz_convert("Asia/Tokyo"))
    arrow = zoned.astype({"time": "timestamp[ns, tz=Europe/Madrid][pyarrow]"})
    for first, second in ((fixes, fixes), (zoned, later), (arrow, later)):
        posterior = tracks.condition(first)
        assert_allclose(read_target_inputs(posterior, second)[:, 0], [0.0, 0.25, 0.5, 0.75])
    with pytest.raises(ValueError, match=r"without a time zone as those of the obs.*, got with;"):
        read_target_inputs(tracks.condition(fixes), zoned)
    with pytest.raises(ValueError, match=r"with a time zone as those of the obs.*tz_localize"):
        read_target_inputs(tracks.condition(zoned), fixes)
    # A Dataset knows no zones, and an origin that is given counts as UTC.
    for law in (tracks.condition(zoned), tracks.condition(zoned, time_origin="2024-09-01")):
        read_target_inputs(law, fixes.set_index("time").to_xarray())
    read_target_inputs(tracks.condition(fixes, time_origin="2024-09-01"), zoned)


def test_the_moment_of_observations_is_copied_to_other_processes(tracks, fixes):
    origin = tracks.condition(fixes).time_origin
    for again in (copy.deepcopy(origin), pickle.loads(pickle.dumps(origin))):
        assert (again, again.zoned) == (origin, False)


def test_columns_of_one_table_do_not_mix_either():
    times = pd.Series(pd.to_datetime(["2024-01-01", "2024-01-02"]))
    frame = pd.DataFrame({"start": times, "stop": times.dt.tz_localize("UTC")})
    variables = Variables((Variable("start", "days"), Variable("stop", "days")), (Variable("y"),))
    with pytest.raises(ValueError, match="in 'start' and 'stop' all with a time zone"):
        read_inputs(variables, frame)
    assert_allclose(read_inputs(variables, frame.assign(start=frame.stop)).x[1], 1.0)


MIXED = "expected datetimes in 'time' all with a time zone or all without, got both; give all"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (("2024-01-01T00:00", "2024-01-02"), None),
        (("2024-01-01T00:00Z", "2024-01-02T01:00+01:00"), None),
        (("2024-01-01 00:00:00+0000", "2024-01-01T18:00-06"), None),
        (("2024-01-01T00:00", "2024-01-02T00:00Z"), MIXED),
        (("2024-01-01", "2024-01-02T00:00+00:00"), MIXED),
    ],
)
def test_a_column_of_a_file_is_zoned_or_not(tmp_path, texts, message):
    lines = "\n".join(f"{text},1.0,2024-01-01" for text in texts)
    (tmp_path / "data.csv").write_text(f"time,y,noted\n{lines}\n")
    frame = read_table(str(tmp_path / "data.csv"))
    variables = Variables((Variable("time", "days"),), (Variable("y"),))
    if message is None:
        assert_allclose(read_inputs(variables, frame).x[:, 0], [0.0, 1.0])
        return
    with pytest.raises(ValueError, match=message):
        read_inputs(variables, frame)
    with pytest.raises(ValueError, match=message):
        read_functions(frame.assign(f=1), function="f", inputs="time", outputs="y")


def test_the_zone_of_the_training_is_that_of_what_is_asked():
    """Times with a zone are kept in UTC, from which those of some clock are hours away."""
    date = pd.to_datetime(["2024-01-01", "2024-01-02"] * 2)
    frame = pd.DataFrame({"id": [1, 1, 2, 2], "date": date, "y": [0.0, 1.0, 2.0, 3.0]})
    zoned = frame.assign(date=date.tz_localize("America/New_York"))
    columns = {"function": "id", "inputs": "date", "elapsed": False}
    variables = read_functions(zoned, **columns).variables
    assert variables.inputs[0].units.endswith("since 2024-01-01 05:00:00 UTC")
    assert_allclose(read_inputs(variables, zoned).x[:2, 0], [0.0, 24.0])
    with pytest.raises(ValueError, match="with a time zone as those of the training data"):
        read_inputs(variables, frame)
    read_inputs(variables, frame[:2].set_index("date").to_xarray())  # a Dataset knows no zones
    naive = read_functions(frame, **columns).variables
    assert naive.inputs[0].units.endswith("since 2024-01-01 00:00:00")
    read_inputs(naive, frame)
