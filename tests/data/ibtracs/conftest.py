import os

import pytest

from geomndp.data import ibtracs


@pytest.fixture(scope="session")
def archive_folder():
    """The folder of the real archive."""
    folder = os.environ.get(ibtracs.VARIABLE)
    if not folder:
        pytest.skip(f"real tracks: set {ibtracs.VARIABLE} to the folder that holds them")
    return folder


@pytest.fixture(scope="session")
def archive(archive_folder):
    """The real archive, read once."""
    return ibtracs.read(archive_folder)
