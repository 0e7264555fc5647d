"""The paper's selection, splits, and where files come from."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from geomndp.data import ibtracs
from geomndp.geometry.geodesy import to_latlon, to_unit

from .helper import storm, write_csv


def tracks_of(path, rows, **options):
    return ibtracs.select(ibtracs.read(write_csv(path / "a.csv", rows)).frame, **options)


def steps(y):
    return np.arccos(np.clip(np.sum(y[:, 1:] * y[:, :-1], axis=-1), -1, 1))


def test_main_tracks_of_fifty_points_on_the_grid(tmp_path):
    rows = [
        *storm("2001001N10140", count=60),
        *storm("2001002N10140", count=49),
        *storm("2001003N10140", count=60, track="spur-other"),
        *storm("2001004N10140", count=26, step=6),
        *storm("2001005N10140", count=25, step=6),
    ]
    tracks = tracks_of(tmp_path, rows)
    assert list(tracks.sid) == ["2001001N10140", "2001004N10140"]
    assert tracks.left_out == {"other track types": 1, "too short": 2, "too long a gap": 0}
    assert tracks.x.shape == (2, 50, 1) and tracks.y.shape == (2, 50, 3)
    assert_allclose(tracks.x[0, :, 0], np.arange(50) / 8)
    assert_allclose(np.linalg.norm(tracks.y, axis=-1), 1)
    assert list(tracks.native) == [50, 25]
    lat, lon = to_latlon(tracks.y)
    assert_allclose(lat[0], 10 + 0.1 * np.arange(50))
    assert_allclose(lon[0], 140 + 0.2 * np.arange(50))
    assert_allclose(lat[1], 10 + 0.05 * np.arange(50), atol=2e-3)


def test_a_fix_off_the_grid_is_used_and_not_counted(tmp_path):
    rows = storm(count=60)
    rows[5][5] = rows[5][5].replace(":00:00", ":30:00")
    assert tracks_of(tmp_path, rows).native == [49]


def test_a_gap_is_named(tmp_path):
    rows = storm(count=60)
    assert tracks_of(tmp_path, rows[:5] + rows[14:]).left_out["too long a gap"] == 1
    assert len(tracks_of(tmp_path, rows[:5] + rows[12:])) == 1


def test_date_line_and_pole_are_no_edges(tmp_path):
    even = np.arange(26)
    over = 84 + 0.5 * even
    lat, lon = np.where(over > 90, 180 - over, over), np.where(over > 90, 200.0, 20.0)
    rows = [
        *storm("2001001N10140", lat=10 + 0 * even, lon=175 + 0.5 * even, count=26, step=6),
        *storm("2001002N10140", lat=lat, lon=lon, count=26, step=6),
    ]
    y = tracks_of(tmp_path, rows).y
    degrees = np.degrees(steps(y))
    assert_allclose(degrees[0], 0.25 * np.cos(np.radians(10)), rtol=1e-3)
    assert_allclose(degrees[1], 0.25, rtol=1e-3)
    assert y[1, 24] @ [0, 0, 1] > 1 - 1e-9


def test_out_as_xarray_and_pandas(tmp_path):
    tracks = tracks_of(tmp_path, storm(count=60))
    data, frame = tracks.dataset(), tracks.frame()
    assert dict(data.sizes) == {"storm": 1, "point": 50}
    assert_allclose(to_unit(data["lat"], data["lon"]), tracks.y)
    assert data["time"].values[0, 1] - data["time"].values[0, 0] == np.timedelta64(3, "h")
    assert list(frame.columns) == ["sid", "season", "basin", "point", "time", "lat", "lon"]
    assert len(frame) == 50


def test_an_archive_without_long_storms_gives_no_tracks(tmp_path):
    tracks = tracks_of(tmp_path, storm(count=3))
    assert len(tracks) == 0 and tracks.y.shape == (0, 50, 3)


def many(count):
    rows = [row for i in range(count) for row in storm(f"{1900 + i}001N10140", count=3)]
    for i, row in enumerate(rows):
        row[1] = str(1900 + i // 3)
    return rows


def test_splits_by_storm_do_not_depend_on_the_order_of_the_file(tmp_path):
    tracks = tracks_of(tmp_path, many(40), points=3)
    train, test = ibtracs.split_by_storm(tracks, 0)
    assert (len(train), len(test)) == (36, 4)
    assert not set(train.sid) & set(test.sid)
    backwards = ibtracs.split_by_storm(tracks.take(np.arange(40)[::-1]), 0)
    assert set(backwards.test.sid) == set(test.sid)
    assert set(ibtracs.split_by_storm(tracks, 1).test.sid) != set(test.sid)


def test_split_by_season(tmp_path):
    tracks = tracks_of(tmp_path, many(40), points=3)
    train, test = ibtracs.split_by_season(tracks)
    assert list(test.season) == [1936, 1937, 1938, 1939] and train.season.max() == 1935
    assert len(ibtracs.split_by_season(tracks, 1920).test) == 20
    with pytest.raises(ValueError, match="within 1900 to 1939, got 1900"):
        ibtracs.split_by_season(tracks, 1900)


def test_some_storms_are_spread_over_all_seasons(tmp_path):
    tracks = tracks_of(tmp_path, many(41), points=3)
    assert list(tracks.spread(3).season) == [1900, 1920, 1940]
    assert len(tracks.spread(100)) == 41
    with pytest.raises(ValueError, match="num"):
        tracks.spread(0)


def test_the_folder_comes_from_the_argument_or_the_environment(tmp_path, monkeypatch):
    monkeypatch.delenv(ibtracs.VARIABLE, raising=False)
    with pytest.raises(ValueError, match=f"the variable {ibtracs.VARIABLE}, got none"):
        ibtracs.locate()
    monkeypatch.setenv(ibtracs.VARIABLE, str(tmp_path))
    with pytest.raises(FileNotFoundError, match="got none of them"):
        ibtracs.locate()
    path = write_csv(tmp_path / "ibtracs.ALL.list.v04r01.csv", storm(count=60))
    assert ibtracs.locate() == (path,)
    assert len(ibtracs.cyclones()) == 1
    with pytest.raises(FileNotFoundError, match="no such path"):
        ibtracs.locate(tmp_path / "nothing")


def test_a_storm_of_two_files_is_read_once(tmp_path):
    import gzip

    names = ("ibtracs_tracks.csv.gz", "jtwc_south_indian_1945_1979.csv.gz")
    for name, sid in zip(names, ("2001002N10140", "2001003N10140"), strict=True):
        rows = [*storm("2001001N10140", count=2), *storm(sid, count=2)]
        text = write_csv(tmp_path / "a.csv", rows).read_bytes()
        (tmp_path / name).write_bytes(gzip.compress(text))
    archive = ibtracs.read(tmp_path)
    assert len(archive) == 3
    assert archive.report.counts == {"storm of an earlier file": 2}


def test_a_fetched_file_is_verified_by_its_own_record(tmp_path):
    addresses = []

    def downloader(url, output_file, pooch):
        addresses.append(url)
        with open(output_file, "wb") as stream:
            stream.write(b"tracks")

    path = ibtracs.fetch("WP", folder=tmp_path, downloader=downloader)
    assert addresses == [ibtracs.address("WP")]
    assert addresses[0].startswith("https://www.ncei.noaa.gov/data/") and path.name in addresses[0]
    assert ibtracs.fetch("WP", folder=tmp_path, downloader=None) == path  # nothing is downloaded
    path.write_bytes(b"trick")
    with pytest.raises(ValueError, match="the file has changed"):
        ibtracs.fetch("WP", folder=tmp_path, downloader=downloader)
    ibtracs.fetch("WP", folder=tmp_path, refresh=True, downloader=downloader)
    assert path.read_bytes() == b"tracks"
    with pytest.raises(ValueError, match="expected subset to be one of 'ALL'"):
        ibtracs.fetch("XX", folder=tmp_path, downloader=downloader)


@pytest.mark.slow
def test_the_real_archive(archive):
    """Counts of the archive's own notes, and the tracks that were derived from it elsewhere."""
    assert archive.report.kept == archive.report.rows == 439_238
    tracks = ibtracs.select(archive.frame)
    assert len(tracks) == 5403
    assert np.linalg.norm(tracks.y, axis=-1) == pytest.approx(1)
    (file, *_) = ibtracs.locate()
    with np.load(file.parent / "tracks_3h_50.npz") as derived:
        order = np.argsort(derived["sid"])
        mine = tracks.take(np.argsort(tracks.sid))
        assert_array_equal(mine.sid, derived["sid"][order])
        assert_array_equal(mine.native, derived["n_native"][order])
        lat, lon = np.moveaxis(derived["latlon"][order].astype(float), -1, 0)
        assert_allclose(mine.y, to_unit(lat, lon), atol=1e-6)


def test_the_sample_in_the_official_layout(archive_folder):
    (file, *_) = ibtracs.locate()
    sample = ibtracs.read(file.parent / "ibtracs_sample.csv", columns=("storm_dir",))
    assert (len(sample), sample.report.kept, sample.report.rows) == (34, 629, 629)
    assert "STORM_DIR" in sample.frame
    assert len(ibtracs.select(sample.frame)) == 5
