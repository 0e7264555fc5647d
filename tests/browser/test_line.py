"""The line in a real browser: observations placed, dragged, removed; numbers of the library."""

import re

import jax.random as jr
import numpy as np

from ..play.models import GP_1D, exact, line_model


def band(play):
    return play.locate(".band-area").get_attribute("d")


def test_a_page_draws_samples_band_and_exact_law(play):
    page = play("exact")
    assert page.locate(".samples .sample-line").count() == 8
    assert page.locate(".exact-mean").get_attribute("d").startswith("M")
    assert band(page).startswith("M") and page.numbers() == []
    assert "8 samples" in page.locate(".status").inner_text()


def test_a_click_places_an_observation(play):
    page = play("exact").click(0.5, 0.4)
    assert len(page.numbers()) == page.locate(".handle").count() == 1
    x, y, error = page.numbers()[0]
    assert -0.2 < x < 0.2 and 0 < y < 1.5 and error == 0


def test_a_drag_moves_the_band_and_shows_the_librarys_number(play):
    page = play("exact").click(0.5, 0.4)
    before = band(page)
    page.drag(page.centre(".handle"), page.point(0.3, 0.7))
    assert band(page) != before
    ((x, y, _),) = page.numbers()
    assert x < -0.5 and y < -0.5
    page.locate(".read input").fill("5")
    shown = re.findall(r"-?[\d.]+", page.readout.split("y ")[1])
    targets = np.linspace(-2, 2, 12)[:, None]
    posterior = exact(GP_1D, line_model()).condition(np.array([[x]]), np.array([[y]]))
    samples = np.asarray(posterior.sample(targets, key=jr.key(0), num_samples=8))[:, 5, 0]
    mean, std = (np.asarray(part)[5, 0] for part in posterior.mean_and_std(targets))
    expected = [samples.mean(), *np.quantile(samples, [0.05, 0.95])]
    expected += [mean, mean - 1.6449 * std, mean + 1.6449 * std]
    np.testing.assert_allclose([float(number) for number in shown], expected, atol=2e-3)


def test_the_wheel_changes_an_error_bar(play):
    page = play("exact").click(0.5, 0.4)
    before = band(page)
    page.page.mouse.move(*page.centre(".handle"))
    for _ in range(3):
        page.page.mouse.wheel(0, -100)
        page.drawn()
    assert page.numbers()[0][2] > 0 and band(page) != before
    for _ in range(4):
        page.page.mouse.wheel(0, 100)
        page.drawn()
    assert page.numbers()[0][2] == 0


def test_a_double_click_removes_an_observation(play):
    page = play("exact").click(0.5, 0.4).click(0.7, 0.6)
    page.page.mouse.dblclick(*page.centre(".handle", 0))
    assert len(page.drawn().numbers()) == 1


def test_undo_and_redo(play):
    page = play("exact").click(0.5, 0.4)
    first = page.numbers()
    page.drag(page.centre(".handle"), page.point(0.3, 0.7))
    second = page.numbers()
    page.page.keyboard.press("Control+z")
    assert page.drawn().numbers() == first  # a drag is one step
    page.page.keyboard.press("Control+Shift+z")
    assert page.drawn().numbers() == second
    page.page.get_by_role("button", name="Undo").click()
    page.page.get_by_role("button", name="Undo").click()
    assert page.drawn().numbers() == []
    assert page.page.get_by_role("button", name="Undo").is_disabled()


def test_everything_works_by_keyboard(play):
    page = play("exact")
    page.page.get_by_role("button", name="Add observation").press("Enter")
    page.drawn()
    page.locate(".handle").focus()
    page.page.keyboard.press("ArrowRight")
    page.page.keyboard.press("Shift+ArrowUp")
    page.page.keyboard.press("+")
    x, y, error = page.drawn().numbers()[0]
    np.testing.assert_allclose([x, y, error], [0.04, 0.6, 0.06], atol=1e-6)
    assert "observation 1: x 0.04" in page.locate(".handle").get_attribute("aria-label")
    page.page.keyboard.press("Delete")
    assert page.drawn().numbers() == []


def test_numbers_are_typed(play):
    page = play("exact").click(0.5, 0.4)
    page.set("y of observation 1", -1.25).drawn()
    assert page.numbers()[0][1] == -1.25
    page.set("x from", -1).drawn()
    assert page.locate(".tick").first.text_content() == "-1"


def test_what_is_no_number_is_marked_and_changes_nothing(play):
    page = play("exact").click(0.5, 0.4)
    before = band(page)
    page.set("y of observation 1", "")
    assert page.field("y of observation 1").get_attribute("aria-invalid") == "true"
    assert band(page) == before


def test_what_the_server_refuses_is_said_in_a_sentence(play):
    page = play("exact")
    before = band(page)
    page.set("Samples", 100_000)
    page.page.wait_for_selector(".alert:not([hidden])")
    assert page.alert.startswith("expected samples to be a whole number from 2 to 512")
    assert band(page) == before
    page.set("Samples", 4).drawn()
    assert page.locate(".sample-line").count() == 4 and page.locate(".alert").is_hidden()


def test_outside_of_training_is_said(play):
    page = play("exact").click(0.5, 0.4)
    page.set("y of observation 1", 90).drawn()
    assert "outside of what the model was trained on" in page.alert


def test_the_exact_law_can_be_hidden(play):
    page = play("exact")
    page.page.get_by_label("Exact law").uncheck()
    page.drawn()
    assert not page.locate(".exact-mean").get_attribute("d") and "exact" not in page.readout


def test_another_seed_gives_other_samples(play):
    page = play("exact")
    before = band(page)
    page.set("Seed", 7).drawn()
    assert band(page) != before


def test_the_newest_request_wins(play):
    page = play("exact").click(0.5, 0.4)
    page.drag(page.centre(".handle"), page.point(0.2, 0.2), steps=40)
    ((x, y, _),) = page.numbers()
    page.page.reload()
    page.drawn()
    assert page.numbers() == [[x, y, 0.0]]


def test_a_first_answer_is_refined(play):
    page = play("sampled")
    page.page.wait_for_selector("[data-refined='true']")
    assert "Amortised with 50 steps" in page.locate(".status").inner_text()
    page.set("Steps", 2).drawn()
    assert "Amortised with 2 steps" in page.locate(".status").inner_text()
    page.field("Sampler").select_option("flow")
    page.drawn()
    assert "2 steps" in page.locate(".status").inner_text()
