"""What may not enter the repository: big files, long files, paths and addresses of one machine."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LOCAL_PATH = re.compile(r"(?<![\w.~-])/(?:work|root)\b")
MAX_BYTES = 6_000_000
MAX_LINES = 250
MAX_TEST_LINES = 320


@pytest.fixture(scope="module")
def files() -> list[Path]:
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "ls-files", "-z"]
    names = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    return [path for name in names.split("\0") if name and (path := ROOT / name).is_file()]


def pins(lock: str) -> set[str]:
    lines = (ROOT / lock).read_text(encoding="utf-8").splitlines()
    return {line for line in lines if line and not line.lstrip().startswith("#")}


def test_no_local_paths(files):
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in files
        for number, line in enumerate(path.read_text(errors="ignore").splitlines(), start=1)
        if LOCAL_PATH.search(line)
    ]
    assert not found, "\n" + "\n".join(found)


def test_no_big_files(files):
    sizes = {str(path.relative_to(ROOT)): path.stat().st_size for path in files}
    assert not {name: size for name, size in sizes.items() if size > MAX_BYTES}


def test_source_files_are_short(files):
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in files
        if path.suffix == ".py"
    }
    most = {name: MAX_TEST_LINES if name.startswith("tests/") else MAX_LINES for name in lengths}
    assert not {name: length for name, length in lengths.items() if length >= most[name]}


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-demo.lock"])
def test_locks_hold_pins_only(lock):
    pin = re.compile(r"[\w.-]+==[\w.+]+( ; .+)?")
    assert not [line for line in pins(lock) if not pin.fullmatch(line)]


def test_demo_lock_is_part_of_the_full_lock():
    assert pins("requirements-demo.lock") <= pins("requirements.lock")
