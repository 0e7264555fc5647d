"""Sessions of exact processes, which compile in a moment, and a server that runs."""

import threading

import pytest

from geomndp.play import Server, Session

from .models import GP_1D, exact, line_model, line_session


@pytest.fixture(scope="session")
def exact_session() -> Session:
    """A line that is drawn exactly: no sampler."""
    model = exact(GP_1D, line_model())
    return Session(model, "exact", model, {"samples": 8, "targets": 12})


@pytest.fixture(scope="session")
def sampled_session() -> Session:
    """A line with an exact score, drawn by a sampler."""
    return line_session()


@pytest.fixture(scope="module")
def server(exact_session):
    """A running server."""
    server = Server(exact_session, warm=False)
    thread = threading.Thread(target=server.run)
    thread.start()
    yield server
    server.stop()
    thread.join()
