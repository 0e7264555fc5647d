"""The playground of a notebook: its messages, without a browser, and an executed notebook."""

import queue
from pathlib import Path

import pytest

from .models import GP_1D, exact, line_model

NOTEBOOK = Path(__file__).parents[2] / "examples" / "playground.ipynb"
ROWS = [{"x": [0.0], "y": [1.0], "std": 0.0}]


@pytest.fixture
def widget(monkeypatch):
    from geomndp.widgets import Playground

    sent = []
    arrived = queue.Queue()

    def send(self, content, buffers=None):
        sent.append(content)
        arrived.put(content["message"]["type"])

    monkeypatch.setattr(Playground, "send", send)
    model = exact(GP_1D, line_model())
    widget = Playground(model, truth=model, start={"samples": 8, "targets": 12}, warm=False)
    widget.sent, widget.arrived = sent, arrived
    yield widget
    widget.close()


def receive(widget, message, page="a"):
    widget._receive(widget, {"page": page, "message": message}, [])


def test_a_view_is_greeted_and_answered(widget):
    receive(widget, None)
    hello = widget.sent[0]
    assert hello["page"] == "a" and hello["message"]["type"] == "hello"
    state = {"samples": 8, "targets": 12, "observations": ROWS}
    receive(widget, {"type": "ask", "number": 1, "state": state})
    assert widget.observations() == ROWS and widget.shown["samples"] == 8
    types = [widget.arrived.get(timeout=60) for _ in range(3)]
    assert types == ["hello", "computing", "picture"]
    assert widget.samples().shape == (8, 12, 1)


def test_two_views_have_answers_of_their_own(widget):
    for page in "ab":
        receive(widget, None, page)
    assert [each["page"] for each in widget.sent] == ["a", "b"]


def test_wrong_messages_of_a_notebook_are_refused(widget):
    widget._receive(widget, "text", [])
    widget._receive(widget, {"page": 3}, [])
    assert widget.sent == []
    receive(widget, {"type": "ask", "number": 1, "state": {"seed": -1}})
    assert widget.sent[-1]["message"]["sentence"].startswith("expected seed")
    assert "seed" not in widget.shown


def test_the_widget_has_the_module_of_the_page(widget):
    from geomndp.play.front_end import module, style

    assert str(widget._esm) == module() and str(widget._css) == style()


@pytest.mark.slow
def test_the_notebook_runs():
    nbformat, nbclient = pytest.importorskip("nbformat"), pytest.importorskip("nbclient")
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    client = nbclient.NotebookClient(notebook, timeout=240, kernel_name="python3")
    client.execute()
    outputs = [out for cell in notebook.cells for out in cell.get("outputs", [])]
    assert any("widget-view" in mime for out in outputs for mime in out.get("data", {}))
    assert "(8, 12, 1)" in str(outputs)
