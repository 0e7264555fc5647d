"""The wheel: what is in it, and that it works where nothing else is installed."""

import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from geomndp import _model_files

ROOT = Path(__file__).parents[1]
MAX_MEGABYTES = 40


def run(*command: str | Path, **options) -> str:
    done = subprocess.run(command, capture_output=True, text=True, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
    (wheel,), (source,) = folder.glob("*.whl"), folder.glob("*.tar.gz")
    return wheel, source


@pytest.mark.slow
def test_wheel_holds_models_outlines_results_and_no_tests(built):
    wheel, _ = built
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    folders = {name.partition("/")[0] for name in names}
    assert folders == {"geomndp", next(name for name in folders if name.endswith(".dist-info"))}
    root = ROOT / "src/geomndp/shipped"
    files = (path for end in _model_files.SUFFIXES for path in root.rglob(f"*{end}"))
    models = [f"geomndp/shipped/{path.relative_to(root).as_posix()}" for path in files]
    others = ["py.typed", "plot/land-110m.json", "plot/land-110m.NOTICE"]
    others += ["play/static/index.html", "play/static/vendor/d3.js", "play/static/vendor/d3.NOTICE"]
    results = (ROOT / "src/geomndp/experiments").glob("*/results.json")
    others += [f"experiments/{path.parent.name}/results.json" for path in results]
    assert {*models, *(f"geomndp/{name}" for name in others)} <= {*names}
    known = (".py", ".json", ".safetensors", "py.typed", ".NOTICE", ".js", ".css", ".html")
    assert not [n for n in names if n.startswith("geomndp/") and not n.endswith(known)]
    assert wheel.stat().st_size < MAX_MEGABYTES * 1e6


@pytest.mark.slow
def test_source_distribution_can_be_tested(built):
    _, source = built
    with tarfile.open(source) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers()}
    assert {"tests/conftest.py", "Makefile", "requirements.lock", "README.md", "LICENSE"} <= names
    assert not [name for name in names if "__pycache__" in name or name.startswith("scratch")]


@pytest.mark.slow
def test_wheel_in_an_empty_environment_runs_the_demo(built, tmp_path):
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", venv)
    pip = (venv / "bin/python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*pip, "-r", ROOT / "requirements-demo.lock")
    run(*pip, "--no-deps", built[0])
    alone = {"PATH": os.defpath, "HOME": str(tmp_path), "COLUMNS": "200"}
    command = (venv / "bin/geomndp", "demo", "--num-samples", "8")
    shown = run(*command, cwd=tmp_path, env=alone)
    assert shown.rstrip().endswith("demo.html")
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".html", ".png"}
