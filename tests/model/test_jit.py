"""What is compiled is dropped before the process has no memory maps left."""

import threading

import jax
import jax.numpy as jnp
import pytest

from geomndp.model import _jit


@pytest.fixture
def kept():
    """A program of the package and one of JAX, both compiled."""
    _jit.forget_programs()
    ours, theirs = _jit.program(jnp.sin, jnp.ones(3)), jax.jit(lambda x: x + 1.0)
    theirs(jnp.ones(3))
    return ours, theirs


@pytest.mark.parametrize(("share", "programs"), [(0.4, 1), (0.6, 0)])
def test_programs_are_dropped_where_maps_are_few(kept, share, programs, tmp_path, monkeypatch):
    (tmp_path / "maps").write_text("a map\n" * int(1000 * share))
    (tmp_path / "most").write_text("1000\n")
    monkeypatch.setattr(_jit, "MAPS", tmp_path / "maps")
    monkeypatch.setattr(_jit, "MOST_MAPS", tmp_path / "most")
    ours, theirs = kept
    thread = threading.Thread(target=_jit.free_programs)  # may stand beside one that compiles
    thread.start()
    thread.join()
    assert _jit.num_programs() == theirs._cache_size() == 1
    _jit.free_programs()
    assert _jit.num_programs() == theirs._cache_size() == programs
    assert theirs(jnp.ones(3))[0] == 2.0 and ours(jnp.zeros(3))[0] == 0.0


def test_no_number_of_maps_is_no_reason(kept, tmp_path, monkeypatch):
    monkeypatch.setattr(_jit, "MAPS", tmp_path / "none")
    _jit.free_programs()
    assert _jit.num_programs() == 1
