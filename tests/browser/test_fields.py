"""The plane and the globe in a real browser."""

import json
import re

import pytest


def test_an_arrow_is_placed_and_dragged(play):
    page = play("plane")
    page.drag(page.point(0.3, 0.5), page.point(0.36, 0.4))
    ((_, _, u, v, error),) = page.numbers()
    assert u > 0.5 and v > 0.5 and error == 0
    assert page.locate(".arrow").count() == 16 and page.locate(".stream").count() > 5
    page.drag(page.centre(".handle"), page.point(0.4, 0.6))
    ((_, y, *same, _),) = page.numbers()
    assert same == [u, v] and y < 0
    assert "u " in page.readout and "v " in page.readout


def test_a_plane_shows_samples_and_the_exact_mean(play):
    page = play("plane")
    ends = {}
    for shown in ("mean", "sample 1", "exact mean"):
        page.field("Show").select_option(shown)
        lines = page.locate(".arrow")
        ends[shown] = [lines.nth(i).get_attribute("x2") for i in range(16)]
    assert ends["mean"] != ends["sample 1"] != ends["exact mean"]


@pytest.mark.parametrize("what", ["observations", "samples"])
def test_a_field_is_saved_as_geojson(what, play):
    page = play("plane")
    page.drag(page.point(0.3, 0.5), page.point(0.36, 0.4))
    page.field("What to save").select_option(what)
    page.field("Format").select_option("geojson")
    with page.page.expect_download() as download:
        page.page.get_by_role("button", name="Save file").click()
    with open(download.value.path(), encoding="utf-8") as file:
        features = json.load(file)["features"]
    assert len(features) == (1 if what == "observations" else 4 * 16)


def rotation(page):
    return page.locate("svg.picture").get_attribute("data-rotation")


def test_the_globe_turns(play):
    page = play("globe")
    before, coast = rotation(page), page.locate(".land").get_attribute("d")
    page.page.mouse.move(*page.point(0.5, 0.5))
    page.page.mouse.down()
    page.page.mouse.move(*page.point(0.6, 0.55), steps=4)
    page.page.mouse.up()
    assert rotation(page) != before and page.locate(".land").get_attribute("d") != coast
    assert page.numbers() == []  # a drag places nothing
    turned = rotation(page)
    page.locate("svg.picture").focus()
    page.page.keyboard.press("ArrowLeft")
    assert rotation(page) != turned


def test_a_field_over_the_earth_is_observed_on_the_globe(play):
    page = play("earth").click(0.5, 0.5)
    assert page.locate(".handle").count() == 1 and page.locate(".cell").count() > 2
    label = page.locate(".handle").get_attribute("aria-label")
    latitude = float(re.search(r"lat ([-\d.]+)", label)[1])
    assert abs(latitude - 20) < 1 and "u 0" in label  # where the globe begins
    page.drag(page.centre(".tip"), page.point(0.5, 0.4))
    assert "u 0" not in page.locate(".handle").get_attribute("aria-label")
    assert "u " in page.readout
    before = rotation(page)
    page.drag(page.point(0.4, 0.6), page.point(0.5, 0.6))
    assert rotation(page) != before and page.locate(".handle").count() == 1


def test_fixes_are_placed_one_after_another_and_tracks_fan_out(play):
    page = play("globe").click(0.5, 0.5).click(0.53, 0.48)
    (time, lat, lon, error), (later, *_) = page.numbers()
    assert (time, later, error) == (0.0, 0.25, 0.0)
    assert 15 < lat < 25 and -60 < lon < -50  # where the globe begins
    assert page.locate(".tracks .sample-line").count() == 4
    page.drag(page.centre(".handle", 1), page.point(0.55, 0.55))
    assert page.numbers()[1][1] < lat


def test_a_location_to_pass_has_a_probability(play):
    page = play("globe").click(0.5, 0.5)
    page.page.get_by_role("button", name="Place by click").click()
    page.click(0.45, 0.5)
    page.set("Within km", 15000).drawn()
    assert "passes the location with probability" in page.readout
    assert page.locate(".near-circle").get_attribute("d").startswith("M")
    page.page.get_by_role("button", name="Remove", exact=True).click()
    page.drawn()
    assert "probability" not in page.readout and len(page.numbers()) == 1


def test_latitudes_beyond_the_pole_are_refused(play):
    page = play("globe").click(0.5, 0.5)
    page.set("lat of observation 1", 95)
    page.page.wait_for_selector(".alert:not([hidden])")
    assert "lat of observation 1 to be a number from -90 to 90" in page.alert
