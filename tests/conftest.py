"""Strict numerics for every test: float64, no silent promotion, shapes checked at each call."""

import gc
import importlib
import json
import os
import random
import subprocess
import sys
from pathlib import Path

# Before jax and numpy start their thread pools: the two test workers share the cores.
os.environ.setdefault("JAX_PLATFORMS", "cpu")
# These tests spend their time in the compiler, not in what it makes: see docs/decisions.md.
os.environ.setdefault(
    "XLA_FLAGS",
    "--xla_cpu_multi_thread_eigen=false --xla_backend_optimization_level=0 "
    "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1",
)
os.environ.setdefault("NPROC", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("MPLBACKEND", "agg")
os.environ.setdefault("GEOMNDP_COMPILATION_CACHE", "off")

import jax
import jax.random as jr
import pytest
from jaxtyping import install_import_hook

from .mlir_contexts import share_contexts
from .shared_programs import forget_programs, share_programs

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
jax.config.update("jax_traceback_in_locations_limit", 0)  # no line numbers in programs
jax.config.update("jax_enable_compilation_cache", False)  # no keys of files that are not written
share_contexts()
share_programs()
gc.set_threshold(100_000)  # what is collected stays

# Never uninstalled: geomndp loads its layers lazily, so modules are still imported inside tests.
install_import_hook("geomndp", "beartype.beartype")


MAPS = Path("/proc/self/maps")
MANY_MAPS = 20_000


@pytest.fixture(autouse=True, scope="module")
def few_programs():
    """Forget compiled programs in time.

    Every one of them holds memory, and three memory maps, of which Linux allows a process 65,530 by
    default.
    """
    yield
    if MAPS.exists() and MAPS.read_bytes().count(b"\n") > MANY_MAPS:
        forget_programs()
        jax.clear_caches()


@pytest.fixture
def import_benchmark(monkeypatch):
    """Import a module of `benchmarks/` by its name."""
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "benchmarks"))
    return importlib.import_module


def pytest_configure(config):
    """Further marks of tests."""
    config.addinivalue_line("markers", "browser: needs a Chromium; run by `make test-browser`")


def pytest_collection_finish():
    """What was imported stays; to look through it again and again for garbage takes time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


@pytest.fixture(scope="session")
def page_server():
    """A process that runs pages: page_server.py."""
    command = [sys.executable, "-W", "error", str(Path(__file__).with_name("page_server.py"))]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as server:
        yield server
        server.stdin.close()


@pytest.fixture
def run_page(page_server, tmp_path):
    """A function that runs code in the test's folder, as a script of its own would, and returns
    what it prints.
    """

    def run(code: str) -> str:
        (tmp_path / "page.py").write_text(code, encoding="utf-8")
        page_server.stdin.write(f"{tmp_path}\n")
        page_server.stdin.flush()
        answer = json.loads(page_server.stdout.readline())
        assert answer["failure"] is None, answer["failure"]
        return answer["output"]

    return run


@pytest.fixture
def getkey():
    """A function that returns a fresh random key at each call.

    The seed is random and shown with a failing test; GEOMNDP_SEED=... repeats it.
    """
    seed = int(os.environ.get("GEOMNDP_SEED", random.randrange(2**31)))
    print(f"GEOMNDP_SEED={seed}")
    key = jr.key(seed)

    def next_key():
        nonlocal key
        key, subkey = jr.split(key)
        return subkey

    return next_key
