"""Links, files, tabs, lost connections; the page on small and dark screens; other wires."""

import numpy as np

VISIBLE = "button, input:not([type=file]), select"


def test_no_request_leaves_the_machine(play):
    page = play("exact").click(0.5, 0.4)
    hosts = {url.split("/")[2] for url in page.requests if not url.startswith(("data:", "blob:"))}
    assert hosts == {f"127.0.0.1:{page.server.port}"}


def test_a_link_restores_the_state_without_the_token(play):
    page = play("exact").click(0.5, 0.4)
    page.set("Seed", 3).drawn()
    page.page.get_by_role("button", name="Copy link").click()
    page.page.wait_for_selector("[data-link]")
    link = page.locate("[data-link]").get_attribute("data-link")
    assert page.server.token not in link and link == page.page.evaluate("location.href")
    other = play("exact", context=page.page.context)  # a tab that has seen the token
    other.page.goto("about:blank")
    other.page.goto(link)
    other.drawn()
    assert other.numbers() == page.numbers() and other.field("Seed").input_value() == "3"


def test_a_reload_keeps_the_state_and_the_address_has_no_token(play):
    page = play("exact").click(0.5, 0.4)
    numbers = page.numbers()
    assert page.server.token not in page.page.evaluate("location.href")
    page.page.reload()
    assert page.drawn().numbers() == numbers


def test_a_link_needs_a_browser_that_knows_the_token(play, browser):
    page = play("exact")
    context = browser.new_context()
    stranger = context.new_page()
    stranger.goto(page.page.evaluate("location.href"))
    assert "geomndp play" in stranger.locator("body").inner_text()
    assert stranger.locator("svg").count() == 0
    context.close()


def test_a_link_of_another_model_is_left_aside(play):
    page = play("globe").click(0.5, 0.5)
    fragment = "#" + page.page.evaluate("location.href").split("#")[1]
    other = play("exact", fragment)
    assert other.numbers() == [] and "expected a link to a state of this model" in other.alert
    broken = play("exact", "#s=%00<script>")
    assert broken.numbers() == []


def test_two_tabs_have_states_of_their_own(play):
    one = play("exact").click(0.5, 0.4)
    two = play("exact", context=one.page.context)
    two.page.get_by_role("button", name="Clear").is_disabled()
    two.set("Samples", 3).drawn()
    one.click(0.7, 0.4)
    assert one.locate(".sample-line").count() == 8 and two.locate(".sample-line").count() == 3
    assert len(one.numbers()) == 2 and len(two.numbers()) <= 1


def test_observations_are_saved_and_opened_again(play, tmp_path):
    page = play("exact").click(0.5, 0.4).click(0.7, 0.6)
    numbers = page.numbers()
    with page.page.expect_download() as download:
        page.page.get_by_role("button", name="Save file").click()
    assert download.value.suggested_filename == "observations.csv"
    path = tmp_path / "observations.csv"
    download.value.save_as(path)
    page.page.get_by_role("button", name="Clear").click()
    assert page.drawn().numbers() == []
    page.field("Open observations").first.set_input_files(path)
    page.page.wait_for_selector(".handle")
    np.testing.assert_allclose(page.drawn().numbers(), numbers, atol=1e-5)


def test_a_file_that_is_none_is_refused(play, tmp_path):
    page = play("exact")
    (tmp_path / "bad.csv").write_text("a,b\n1,2\n")
    page.field("Open observations").first.set_input_files(tmp_path / "bad.csv")
    page.page.wait_for_selector(".alert:not([hidden])")
    assert page.alert.startswith("expected a column 'x'")


def test_a_file_that_is_too_long_is_refused(play, tmp_path):
    page = play("exact").click(0.5, 0.4)
    (tmp_path / "long.csv").write_text("x,y\n" + "0.0,1.0\n" * 200_000)
    page.field("Open observations").first.set_input_files(tmp_path / "long.csv")
    page.page.wait_for_selector(".alert:not([hidden])")
    assert "expected a file of at most" in page.alert and len(page.numbers()) == 1


def test_a_link_with_wrong_numbers_is_left_aside(play):
    encode = "(state) => 's=' + btoa(JSON.stringify(state)).replace(/=+$/, '')"
    row = {"x": [0.0], "y": [0.0], "std": 0.0}
    wrong = ({"samples": "8"}, {"near": 3}, {"view": [[0.0]]}, {"sampler": None})
    wrong += ({"observations": [{**row, "std": "a"}]},)
    page = play("exact")
    for parts in wrong:
        state = {"observations": [row], "view": [[-2.0, 2.0]], **parts}
        fragment = page.page.evaluate(encode, state)
        other = play("exact", "#" + fragment, context=page.page.context)
        assert other.numbers() == [] and "expected a link to a state" in other.alert


def test_a_lost_connection_is_said_and_found_again(play, browser):
    sockets = []
    page = play("exact")
    page.page.route_web_socket(
        lambda url: url.endswith("/socket"),
        lambda socket: sockets.append((socket, socket.connect_to_server())),
    )
    page.page.reload()
    page.drawn().click(0.5, 0.4)
    numbers = page.numbers()
    sockets[-1][0].close()
    page.page.wait_for_selector("[data-connected='false']")
    assert "connection lost" in page.locate(".status").inner_text()
    page.page.wait_for_selector("[data-connected='true']")
    page.click(0.7, 0.6)
    assert page.numbers()[:1] == numbers and len(page.numbers()) == 2


def test_a_phones_width_needs_no_scrolling_sideways(play):
    page = play("exact", viewport={"width": 360, "height": 740}, has_touch=True, is_mobile=True)
    assert page.page.evaluate("document.documentElement.scrollWidth") <= 360
    page.page.touchscreen.tap(*page.point(0.5, 0.4))
    assert len(page.drawn().numbers()) == 1


def test_dark_mode_has_other_colours_of_enough_contrast(play):
    def colours(page):
        style = "getComputedStyle(document.querySelector('.geomndp-playground'))"
        names = [page.page.evaluate(f"{style}.{name}") for name in ("color", "backgroundColor")]
        return [[int(n) / 255 for n in name[4:-1].split(",")] for name in names]

    def luminance(colour):
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    light, dark = (colours(play("exact", color_scheme=scheme)) for scheme in ("light", "dark"))
    assert light != dark
    for ink, paper in (light, dark):
        low, high = sorted((luminance(ink), luminance(paper)))
        assert (high + 0.05) / (low + 0.05) > 7


def test_every_control_has_a_name(play):
    for name in ("exact", "globe"):
        page = play(name).click(0.5, 0.5)
        tree = page.locate(".geomndp-playground").aria_snapshot()
        assert "observation 1" in tree and 'slider "Read the picture at' in tree
        for control in page.locate(VISIBLE).all():
            named = control.evaluate(
                "e => e.getAttribute('aria-label') || e.labels?.[0]?.textContent || e.textContent"
            )
            assert named.strip(), control.evaluate("e => e.outerHTML")


FAKE = """async () => {
  const { mount } = await import(MODULE);
  const sent = [];
  const wire = { send: (message) => sent.push(message), close() {}, start() {} };
  const element = document.body.appendChild(document.createElement("div"));
  const app = mount(element, wire);
  wire.onmessage({ type: "hello", kind: "line", name: "<img src=x>", samplers: [], truth: false,
    max_samples: 9, start: {}, vector: false, outputs_apart: true, targets: [2, 2, 9],
    inputs: [{ name: "x", units: "", range: [0, 1] }],
    outputs: [{ name: "y", units: "", range: [0, 1] }] });
  await new Promise((resolve) => setTimeout(resolve, 100));
  const rows = (a, b) => [[a], [b]];
  const picture = { x: rows(0, 1), mean: rows(0.2, 0.4), std: rows(1, 1),
    low: rows(0, 0), high: rows(1, 1), samples: [rows(0.2, 0.4)], truth: null, warnings: [],
    sampler: null, steps: null };
  wire.onmessage({ type: "picture", number: 1, refined: true, picture, seconds: 0 });
  const old = { ...picture, mean: rows(9, 9) };
  wire.onmessage({ type: "picture", number: 0, refined: true, picture: old, seconds: 0 });
  return [sent.map((each) => [each.type, each.number]), element.querySelector("output").textContent,
    element.querySelectorAll("img").length];
}"""


def test_the_module_works_over_any_wire(play):
    page = play("exact")
    module = page.server.address + "playground.js"
    sent, text, images = page.page.evaluate(FAKE.replace("MODULE", repr(module)))
    assert sent == [["ask", 1]] and images == 0
    assert text == "at x 0: y 0.2 (0 to 1)"  # an old picture is left aside


WIDGET = """async () => {
  const { default: widget } = await import(MODULE);
  const sent = [], listeners = {};
  const send = (message) => sent.push(message);
  const model = { send, on: (name, f) => { listeners[name] = f; }, off() {} };
  const el = document.body.appendChild(document.createElement("div"));
  const close = widget.render({ model, el });
  close();
  return [sent.length, sent[0].message, typeof sent[0].page, Object.keys(listeners), el.className];
}"""


def test_the_default_export_is_a_widget(play):
    page = play("exact")
    module = page.server.address + "playground.js"
    result = page.page.evaluate(WIDGET.replace("MODULE", repr(module)))
    assert result == [1, None, "string", ["msg:custom"], "geomndp-playground"]
