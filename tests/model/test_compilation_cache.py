"""Where compiled programs are kept on disk, and who may say otherwise."""

from pathlib import Path

import jax
import pytest

from geomndp.model import _compilation_cache


@pytest.fixture
def no_setting():
    """JAX without a folder, before and after."""
    before = jax.config.jax_compilation_cache_dir
    jax.config.update("jax_compilation_cache_dir", None)
    yield
    jax.config.update("jax_compilation_cache_dir", before)


def use():
    _compilation_cache.use_compilation_cache.__wrapped__()
    return jax.config.jax_compilation_cache_dir


@pytest.mark.parametrize("word", ["off", "OFF", "0", "no"])
def test_off(word, no_setting, monkeypatch):
    monkeypatch.setenv(_compilation_cache.VARIABLE, word)
    assert _compilation_cache.cache_folder() is None and use() is None


def test_programs_of_another_number_of_threads_lie_elsewhere(monkeypatch):
    """XLA's programs keep the number of threads for which they were compiled."""
    monkeypatch.delenv(_compilation_cache.VARIABLE, raising=False)
    folders = []
    for threads in ("1", "2", "2"):
        monkeypatch.setenv("NPROC", threads)
        folders.append(_compilation_cache.cache_folder())
    assert folders[0] != folders[1] == folders[2]
    assert folders[0].parent == folders[1].parent


def test_in_the_users_cache_folder(tmp_path, no_setting, monkeypatch):
    monkeypatch.delenv(_compilation_cache.VARIABLE)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = _compilation_cache.cache_folder()
    assert folder.parent == tmp_path / "geomndp" / "xla" and not folder.exists()
    assert use() == str(folder) and folder.is_dir()


def test_in_a_folder_of_choice(tmp_path, no_setting, monkeypatch):
    monkeypatch.setenv(_compilation_cache.VARIABLE, str(tmp_path / "here"))
    assert use() == str(tmp_path / "here")


def test_a_folder_that_jax_has_stays(tmp_path, no_setting, monkeypatch):
    monkeypatch.setenv(_compilation_cache.VARIABLE, str(tmp_path / "ours"))
    jax.config.update("jax_compilation_cache_dir", str(tmp_path / "theirs"))
    assert use() == str(tmp_path / "theirs")
    assert not (tmp_path / "ours").exists()


def test_no_folder_where_none_can_be_made(tmp_path, no_setting, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(_compilation_cache.VARIABLE, str(tmp_path / "file" / "below"))
    assert use() is None


def test_without_a_home_there_is_none(monkeypatch):
    def no_home():
        raise RuntimeError

    monkeypatch.delenv(_compilation_cache.VARIABLE)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    assert _compilation_cache.cache_folder() is None
