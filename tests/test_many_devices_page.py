"""The page on many tasks: its code runs as it is printed."""

from .test_docs import blocks


def test_code_runs(run_page):
    code = blocks("many_devices.md")
    assert code
    run_page("\n".join(code))
