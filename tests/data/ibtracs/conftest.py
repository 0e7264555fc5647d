import os

import pytest

from geomndp.data import ibtracs


@pytest.fixture(scope="session")
def archive():
    """The real archive, read once."""
    folder = os.environ.get(ibtracs.VARIABLE)
    if not folder:
        pytest.skip(f"real tracks: set {ibtracs.VARIABLE} to the folder that holds them")
    return ibtracs.read(folder)
