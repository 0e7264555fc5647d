"""Training states on disk: written atomically, verified when read."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import tempfile
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _validation
from geomndp.train.fingerprint import differences
from geomndp.train.step import TrainState

FORMAT = "geomndp training state, version 2"
EARLIER = "geomndp training state, version 1"  # without data, optimiser and initial parameters

ROOM = 2**18  # bytes for what is written beside the arrays


class CheckpointError(ValueError):
    """The folder holds no checkpoint that can be read, or those of another run."""


class AnotherRun(CheckpointError):
    """Checkpoints that this run may not resume."""


def digest(state: TrainState) -> str:
    """SHA-256 of all arrays of a training state.

    Args:
        state: The state.

    Returns:
        The digest in hexadecimal digits.
    """
    sha = hashlib.sha256()
    for leaf in jax.tree.leaves(_plain(state)):
        array = np.asarray(leaf)
        sha.update(f"{array.dtype} {array.shape}".encode() + array.tobytes())
    return sha.hexdigest()


def _plain(state: TrainState) -> list[Any]:
    """Leaves of the state; a key as the integers it is made of."""
    leaves = jax.tree.leaves(state)
    return [jr.key_data(v) if jnp.issubdtype(v.dtype, jax.dtypes.prng_key) else v for v in leaves]


class Checkpoints:
    """The last few states of one run.

    Orbax writes to a temporary name and renames, so that a run killed at any moment leaves only
    complete checkpoints. A state is restored only if its digest and its settings are the run's.
    """

    def __init__(self, directory: Path, settings: Mapping[str, Any], *, keep: int = 3):
        """Open or make the folder.

        Args:
            directory: The folder.
            settings: What the run is made of, JSON-serialisable.
            keep: Number of checkpoints to keep.

        Raises:
            CheckpointError: If the folder holds anything else.
            ImportError: If orbax is not installed.
        """
        try:
            import orbax.checkpoint as ocp
        except ImportError as error:
            message = "checkpoints need orbax: pip install 'geomndp[train]'"
            raise ImportError(message) from error
        _validation.at_least(1, keep=keep)
        self.directory = Path(directory).absolute()
        self.settings = json.loads(json.dumps(dict(settings)))
        if self.directory.exists():
            _refuse_foreign(self.directory)
        options = ocp.CheckpointManagerOptions(
            max_to_keep=keep,
            enable_async_checkpointing=False,
            cleanup_tmp_directories=True,  # what a killed run left; the caller holds the folder
        )
        self._args = ocp.args
        self._manager = ocp.CheckpointManager(self.directory, options=options)

    @property
    def latest(self) -> int | None:
        """Step of the last complete checkpoint."""
        return self._manager.latest_step()

    def save(self, state: TrainState) -> None:
        """Write a state; returns when it is on disk.

        Args:
            state: The state.

        Raises:
            OSError: If that fails; earlier checkpoints are as they were.
        """
        about = {"format": FORMAT, "settings": self.settings, "digest": digest(state)}
        composite = self._args.Composite(
            state=self._args.StandardSave(_plain(state)), about=self._args.JsonSave(about)
        )
        step = int(state.step)
        try:
            _check_room(self.directory.parent, state)
            self._manager.save(step, args=composite)
        except Exception as error:
            where = f"a checkpoint of step {step} in {self.directory}"
            raise OSError(f"expected to write {where}, got: {_reason(error)}") from error

    def restore(self, like: TrainState) -> TrainState | None:
        """Read the latest valid state.

        A damaged checkpoint is skipped with a warning, and removed if an earlier one is valid.

        Args:
            like: A state of the same structure, types and devices.

        Returns:
            The state, None where there is none yet.

        Raises:
            CheckpointError: If no checkpoint can be read, or they belong to another run.
        """
        damaged = {}
        for step in sorted(self._manager.all_steps(), reverse=True):
            try:
                about = self._about(step)
                self._refuse_another_run(about)
                state = self._state(step, like, about["digest"])
            except AnotherRun:
                raise
            except Exception as error:
                damaged[step] = f"step {step}: {type(error).__name__}: {str(error)[:200]}"
                continue
            for bad, reason in damaged.items():
                warnings.warn(f"removed a damaged checkpoint, {reason}", stacklevel=2)
                self._manager.delete(bad)
            return state
        if damaged:
            reasons = "; ".join(damaged.values())
            raise CheckpointError(f"no checkpoint in {self.directory} can be read: {reasons}")
        return None

    def _about(self, step: int) -> dict:
        """What was noted with a state."""
        args = self._args
        about = self._manager.restore(step, args=args.Composite(about=args.JsonRestore()))["about"]
        if about.get("format") not in (FORMAT, EARLIER):
            raise CheckpointError(f"expected format {FORMAT!r}, got {about.get('format')!r}")
        return about

    def _state(self, step: int, like: TrainState, expected: str) -> TrainState:
        args = self._args
        target = args.Composite(state=args.StandardRestore(_plain(like)))
        leaves = self._manager.restore(step, args=target)["state"]
        leaves = [
            jr.wrap_key_data(leaf, impl=jr.key_impl(old)) if leaf.dtype != old.dtype else leaf
            for leaf, old in zip(leaves, jax.tree.leaves(like), strict=True)
        ]
        state = jax.tree.unflatten(jax.tree.structure(like), leaves)
        if digest(state) != expected:
            raise CheckpointError("the arrays are not those that were written (digest)")
        return state

    def _refuse_another_run(self, about: dict) -> None:
        if about["format"] == EARLIER:
            raise AnotherRun(
                f"expected a run of this version in {self.directory}, got one of an earlier one,"
                " whose checkpoints do not say which data, optimiser and initial parameters they"
                " belong to: finish it with that version or train in an empty folder"
            )
        differing = differences(about["settings"], self.settings)
        if differing:
            raise AnotherRun(
                f"{self.directory} holds another run, with other " + ", ".join(differing)
            )

    def close(self) -> None:
        """Close the folder."""
        self._manager.close()


def _check_room(folder: Path, state: TrainState) -> None:
    """Refuse a full disk before Orbax finds out, which then fails in several threads at once."""
    size = sum(leaf.nbytes for leaf in _plain(state)) + ROOM
    if not hasattr(os, "posix_fallocate"):
        return
    with tempfile.TemporaryFile(dir=folder) as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size)
        except OSError as error:
            if error.errno not in (errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
                raise  # else a file system that cannot say


def _reason(error: Exception) -> str:
    """First words of what went wrong below."""
    text = " ".join((getattr(error, "strerror", None) or str(error)).split())
    return (text if len(text) <= 200 else text[:200] + "...") or type(error).__name__


def _refuse_foreign(directory: Path) -> None:
    if not directory.is_dir():
        raise CheckpointError(f"expected a folder of checkpoints, got the file {directory}")
    foreign = [
        path.name
        for path in directory.iterdir()
        if not path.name.isdigit() and ".orbax-checkpoint-tmp" not in path.name
    ]
    if foreign:
        names = ", ".join(sorted(foreign)[:5])
        raise CheckpointError(f"expected only checkpoints in {directory}, found {names}")
