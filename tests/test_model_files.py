"""Names of models, documents of both versions, cards and aliases; all without JAX."""

import json
import shutil
import subprocess
import sys

import pytest

from geomndp import _atomic_io, _model_files

NAME = "regression1d/se"


@pytest.fixture
def models(tmp_path, monkeypatch):
    """A folder of shipped models: one of version 1, and what a test adds."""
    for suffix in _model_files.SUFFIXES:
        source = _model_files.sibling(_model_files.folder() / "vector-fields/se-ndp", suffix)
        if source.exists():
            (tmp_path / "a").mkdir(exist_ok=True)
            shutil.copy(source, tmp_path / "a" / f"b{suffix}")
    monkeypatch.setattr(_model_files, "folder", lambda: tmp_path)
    return tmp_path


def card(models, name, **content):
    text = json.dumps({"format": "geomndp", "version": 2, "metadata": {}} | content)
    return _atomic_io.write(models / f"{name}.json", text)


def test_an_alias_is_the_other_model_with_metadata_of_its_own(models):
    card(models, "c/d", model="a/b", metadata={"mine": 1})
    assert _model_files.names() == ["a/b", "c/d"]
    path = _model_files.find("c/d")
    assert _model_files.weights(path) == models / "a/b.safetensors"
    own, other = (_model_files.document(_model_files.find(name)) for name in ("c/d", "a/b"))
    assert own == other | {"metadata": {"mine": 1}}
    _model_files.write_metadata(path, {"mine": 2})
    assert _model_files.metadata("c/d") == {"mine": 2}
    assert _model_files.metadata("a/b") == other["metadata"]


@pytest.mark.parametrize("target", ["c/d", "c/e", "../a/b", "", 5, None, ["a/b"]])
def test_wrong_aliases_are_refused(target, models):
    """Of themselves, of other aliases, of what is not shipped."""
    card(models, "c/e", model="a/b")
    card(models, "c/d", model=target)
    with pytest.raises(ValueError, match=r"expected a shipped model in the alias .*d\.json"):
        _model_files.document(_model_files.find("c/d"))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"metadata": 5}, "expected metadata"),
        ({"more": 5}, "got 'more'"),
        ({"sha256": 5}, "checksum"),
    ],
)
def test_wrong_cards_are_refused(changes, message, models):
    card(models, "c/d", **{"model": "a/b", **changes})
    with pytest.raises(ValueError, match=message):
        _model_files.document(_model_files.find("c/d"))


def test_shipped_aliases_have_no_weights_of_their_own():
    sums = {}
    for name in _model_files.names():
        own = _model_files.sibling(_model_files.folder() / name, ".safetensors")
        if own.exists():
            content = own.read_bytes()
            assert name.endswith(("curl-free", "div-free")) or content not in sums, name
            sums[content] = name
    for name in ("se", "matern"):
        path = _model_files.find(f"regression1d-gnp2020/{name}")
        assert _model_files.weights(path) == _model_files.weights(
            _model_files.find(f"regression1d/{name}")
        )
        assert (
            _model_files.document(path)["metadata"]["experiment"] == f"regression1d-gnp2020/{name}"
        )


def test_every_shipped_model_says_what_it_was_trained_on():
    """Without that, requests far outside of its training would be answered in silence."""
    for name in _model_files.names():
        support = _model_files.read_document(_model_files.find(name)).get("support")
        assert support and support["points"] > 1, name


def test_documents_are_read_without_jax():
    code = (
        "import sys\n"
        "from geomndp import _model_files\n"
        "for name in _model_files.names(): _model_files.document(_model_files.find(name))\n"
        "print(*{name.split('.')[0] for name in sys.modules})"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert not {"jax", "numpy", "safetensors"} & set(done.stdout.split())
