"""Files as NOAA publishes them, whole and damaged."""

import gzip
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geomndp.data import ibtracs

from .helper import NAMES, storm, times, write_csv, write_netcdf

LAT, LON, TIME = NAMES.index("LAT"), NAMES.index("LON"), NAMES.index("ISO_TIME")


def reasons(report):
    return {problem.reason: problem for problem in report.problems}


def test_csv_in_the_official_layout(tmp_path):
    rows = [*storm(count=4), *storm("2001365N12100", count=3, track="spur-merge")]
    archive = ibtracs.read(write_csv(tmp_path / "a.csv", rows))
    assert len(archive) == 2
    assert (archive.report.rows, archive.report.kept, archive.report.problems) == (7, 7, ())
    frame = archive.frame
    assert list(frame["BASIN"].unique()) == ["NA"]  # the North Atlantic, not a blank
    assert list(frame["TRACK_TYPE"].unique()) == ["main", "spur-merge"]
    assert_array_equal(frame["ISO_TIME"][:4].to_numpy(), times(4))
    assert_allclose(frame["LAT"][:4], [10, 10.1, 10.2, 10.3])
    assert frame["WMO_WIND"].dtype == float


def test_a_blank_number_is_nan_and_no_problem(tmp_path):
    rows = storm(count=2)
    rows[1][NAMES.index("WMO_WIND")] = " "
    archive = ibtracs.read(write_csv(tmp_path / "a.csv", rows))
    assert_array_equal(archive.frame["WMO_WIND"], [35, np.nan])
    assert not archive.report.problems


def test_netcdf_and_csv_agree(tmp_path):
    storms = [storm(count=4), storm("2001365N12100", count=6, track="spur-merge")]
    text = ibtracs.read(write_csv(tmp_path / "a.csv", [*storms[0], *storms[1]])).frame
    arrays = ibtracs.read(write_netcdf(tmp_path / "a.nc", storms)).frame
    for name in arrays.columns:
        if text[name].dtype == float:
            assert_allclose(arrays[name], text[name], rtol=1e-6)
        else:
            assert_array_equal(arrays[name], text[name])
    assert set(arrays.columns) <= set(text.columns)


def test_dataset_has_the_layout_of_the_netcdf_files(tmp_path):
    rows = [*storm(count=4), *storm("2001365N12100", count=2)]
    data = ibtracs.read(write_csv(tmp_path / "a.csv", rows)).dataset()
    assert dict(data.sizes) == {"storm": 2, "date_time": 4}
    assert_array_equal(data["numobs"], [4, 2])
    assert_array_equal(np.isfinite(data["lat"]).sum("date_time"), [4, 2])
    assert np.isnat(data["time"].values[1, 2:]).all()
    assert list(data["name"].values) == ["NOT_NAMED"] * 2


def test_one_agency(tmp_path):
    rows = storm(count=3)
    rows[1][NAMES.index("USA_LAT")], rows[1][NAMES.index("USA_LON")] = "11", "141"
    path = write_csv(tmp_path / "a.csv", rows)
    archive = ibtracs.read(path, agency="usa")
    assert archive.frame[["LAT", "LON"]].to_numpy().tolist() == [[11, 141]]
    assert archive.report.counts == {"no latitude": 2}
    with pytest.raises(ValueError, match=r"\(usa\), got 'tokyo'"):
        ibtracs.read(path, agency="tokyo")


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("LAT", "1o.5", "unreadable latitude"),
        ("LAT", " ", "no latitude"),
        ("LAT", "-91", "latitude out of range"),
        ("LON", "nan", "unreadable longitude"),
        ("LON", "-9999", "longitude out of range"),
        ("ISO_TIME", "2001-13-01 00:00:00", "unreadable time"),
        ("ISO_TIME", " ", "no time"),
        ("SID", " ", "no storm"),
    ],
)
def test_a_bad_row_is_named_and_the_others_stay(tmp_path, column, value, reason):
    rows = storm(count=5)
    rows[2][NAMES.index(column)] = value
    archive = ibtracs.read(write_csv(tmp_path / "a.csv", rows))
    assert archive.report.kept == 4
    (problem,) = archive.report.problems
    assert (problem.row, problem.reason, problem.dropped) == ("line 5", reason, True)
    assert f"1 x {reason} (first: line 5" in str(archive.report)


def test_a_bad_number_elsewhere_costs_its_cell_only(tmp_path):
    rows = storm(count=3)
    rows[1][NAMES.index("WMO_WIND")] = "thirty"
    archive = ibtracs.read(write_csv(tmp_path / "a.csv", rows))
    assert_array_equal(archive.frame["WMO_WIND"], [35, np.nan, 35])
    problem = reasons(archive.report)["unreadable WMO_WIND"]
    assert (problem.row, problem.value, problem.dropped) == ("line 4", "thirty", False)


def test_repeated_fixes(tmp_path):
    rows = storm(count=4)
    moved = [*rows[2][:LAT], "50", *rows[2][LAT + 1 :]]
    archive = ibtracs.read(write_csv(tmp_path / "a.csv", [rows[3], *rows[:3], rows[1], moved]))
    assert_array_equal(archive.frame["ISO_TIME"].to_numpy(), times(4))  # sorted again
    assert_allclose(archive.frame["LAT"], [10, 10.1, 10.2, 10.3])
    found = reasons(archive.report)
    assert found["repeated fix"].row == "line 7"
    assert found["second, different fix at one time"].row == "line 8"


def test_a_row_with_too_few_cells_is_named(tmp_path):
    rows = storm(count=4)
    rows[1] = rows[1][:6]
    archive = ibtracs.read(write_csv(tmp_path / "a.csv", rows))
    assert archive.report.counts == {"wrong number of cells": 1}
    assert archive.report.problems[0].sid == "2001364N10175"
    assert archive.report.rows == 4


def test_missing_columns_are_named(tmp_path):
    keep = [i for i, name in enumerate(NAMES) if name not in ("LON", "TRACK_TYPE")]
    rows = [[row[i] for i in keep] for row in storm(count=3)]
    names = [NAMES[i] for i in keep]
    path = write_csv(tmp_path / "a.csv", rows, names=names, units=[" "] * len(names))
    with pytest.raises(ValueError, match=r"columns LON, TRACK_TYPE in a\.csv"):
        ibtracs.read(path)
    path = write_netcdf(tmp_path / "a.nc", [storm(count=3)], drop=("lon",))
    with pytest.raises(ValueError, match=r"columns LON in a\.nc"):
        ibtracs.read(path)


def cut(path: Path, share: float) -> Path:
    data = path.read_bytes()
    path.write_bytes(data[: int(share * len(data))])
    return path


def test_truncated_files_are_refused(tmp_path):
    path = write_csv(tmp_path / "a.csv", storm(count=60))
    packed = tmp_path / "a.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    assert len(ibtracs.read(packed).frame) == 60
    with pytest.raises(ValueError, match="complete gzip file"):
        ibtracs.read(cut(packed, 0.7))
    path.write_text(path.read_text()[:-50])
    with pytest.raises(ValueError, match=r"a\.csv, which ends within line 62"):
        ibtracs.read(path)
    with pytest.raises(ValueError, match=r"complete NetCDF file, got a\.nc"):
        ibtracs.read(cut(write_netcdf(tmp_path / "a.nc", [storm(count=9)]), 0.7))


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.nc", "a.xls"])
def test_files_of_another_kind_are_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(ValueError, match="expected"):
        ibtracs.read(tmp_path / name)


def test_longitudes_past_the_date_line_are_wrapped(tmp_path):
    rows = storm(lon=179 + 0.5 * np.arange(5), count=5)
    archive = ibtracs.read(write_csv(tmp_path / "a.csv", rows))
    assert_allclose(archive.frame["LON"], [179, 179.5, -180, -179.5, -179])
