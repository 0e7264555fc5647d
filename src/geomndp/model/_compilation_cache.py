"""Compiled programs on disk, for the next process.

They are in JAX's persistent compilation cache, in the user's cache folder
(`$XDG_CACHE_HOME/geomndp/xla`) unless the environment variable GEOMNDP_COMPILATION_CACHE names
another folder or says "off". A folder that JAX was set to use already, by
`jax_compilation_cache_dir`, stays.
"""

from __future__ import annotations

import functools
import hashlib
import os
import platform
import sys
from pathlib import Path
from typing import Any

import jax

VARIABLE = "GEOMNDP_COMPILATION_CACHE"
OFF = ("off", "0", "no", "false")


@functools.cache  # once in a process
def use_compilation_cache() -> None:
    """Let JAX keep what takes long to compile."""
    folder = cache_folder()
    if folder is None or setting("jax_compilation_cache_dir") is not None:
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return
    if os.access(folder, os.W_OK):
        jax.config.update("jax_compilation_cache_dir", str(folder))


def setting(name: str) -> Any:
    """Setting of JAX."""
    return getattr(jax.config, name)


def cache_folder() -> Path | None:
    """Folder of compiled programs, None where there shall be none.

    One for every kind of processor and number of threads: a program of one kind may not run on
    another, home folders are shared between machines, and a program that was compiled for one
    thread runs in one wherever it is loaded.
    """
    chosen = os.environ.get(VARIABLE, "")
    if chosen.strip().lower() in OFF:
        return None
    if chosen.strip():
        return Path(chosen).expanduser()
    try:
        return _user_cache() / "geomndp" / "xla" / _processor()
    except RuntimeError:  # there is no home
        return None


def _user_cache() -> Path:
    if os.environ.get("XDG_CACHE_HOME"):
        return Path(os.environ["XDG_CACHE_HOME"])
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    if sys.platform == "win32" and os.environ.get("LOCALAPPDATA"):
        return Path(os.environ["LOCALAPPDATA"])
    return Path.home() / ".cache"


def _processor() -> str:
    """Short name of the processor's kind and of the number of threads."""
    words = [platform.machine(), platform.processor(), _num_threads()]
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        kinds = ("model name", "flags", "features")
        words += sorted({line for line in lines if line.lower().startswith(kinds)})
    except OSError:
        pass
    return hashlib.sha256("\n".join(words).encode()).hexdigest()[:12]


def _num_threads() -> str:
    """Threads that XLA takes: those that NPROC names, else one per core that this process has."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return os.environ.get("NPROC", "") or str(cores)
