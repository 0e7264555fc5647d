"""Progress is shown on a terminal, after a while, and nowhere else."""

import io
import sys

import pytest

from geomndp import _progress
from geomndp._progress import reporting


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_nothing_is_shown_elsewhere(capsys, monkeypatch):
    monkeypatch.setattr(_progress, "QUIET_SECONDS", -1.0)
    with reporting("sampling", 3, True) as report:
        report(1.5)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("patience", "shown"), [(-1.0, True), (60.0, False)])
def test_a_bar_on_a_terminal_after_a_while(patience, shown, monkeypatch):
    monkeypatch.setattr(_progress, "QUIET_SECONDS", patience)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with reporting("sampling", 3, True) as report:
        report(1.5)
        report(3)
    assert ("sampling" in sys.stderr.getvalue()) is shown


def test_no_bar_or_a_function_instead(monkeypatch):
    monkeypatch.setattr(_progress, "QUIET_SECONDS", -1.0)
    monkeypatch.setattr(sys, "stderr", Terminal())
    heard = []
    for wanted in (False, heard.append):
        with reporting("sampling", 3, wanted) as report:
            report(2)
    assert heard == [2] and sys.stderr.getvalue() == ""


def test_stretches_are_short_where_a_function_may_end_the_work():
    clocks = _progress.Clock(), _progress.Clock(progress=lambda done: None)
    assert [clock.stretch(100) for clock in clocks] == [1, 1]
    for clock in clocks:
        clock.seconds = 0.04
    assert [clock.stretch(100) for clock in clocks] == [25, 2]
