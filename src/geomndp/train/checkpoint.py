"""Training states on disk: written whole or not at all, checked when read."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp import _checks
from geomndp.train.step import TrainState

FORMAT = "geomndp training state, version 1"


class CheckpointError(ValueError):
    """A folder that holds no checkpoint that can be read, or one of another run."""


def digest(state: TrainState) -> str:
    """SHA-256 of all arrays of the state."""
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
    """The last `keep` states of one run, which `settings` describe.

    Orbax writes to a temporary name and renames, so that a run killed at any moment leaves only
    whole checkpoints. A state is restored only if its digest and its settings are the run's.
    """

    def __init__(self, directory: Path, settings: Mapping[str, Any], *, keep: int = 3):
        """Open or make the folder; refuse one that holds something else."""
        try:
            import orbax.checkpoint as ocp
        except ImportError as error:
            message = "checkpoints need orbax: pip install 'geomndp[train]'"
            raise ImportError(message) from error
        _checks.at_least(1, keep=keep)
        self.directory = Path(directory).absolute()
        self.settings = json.loads(json.dumps(dict(settings)))
        if self.directory.exists():
            _refuse_foreign(self.directory)
        options = ocp.CheckpointManagerOptions(max_to_keep=keep, enable_async_checkpointing=False)
        self._args = ocp.args
        self._manager = ocp.CheckpointManager(self.directory, options=options)

    @property
    def latest(self) -> int | None:
        """Step of the last whole checkpoint."""
        return self._manager.latest_step()

    def save(self, state: TrainState) -> None:
        """Write the state; returns when it is on disk."""
        about = {"format": FORMAT, "settings": self.settings, "digest": digest(state)}
        composite = self._args.Composite(
            state=self._args.StandardSave(_plain(state)), about=self._args.JsonSave(about)
        )
        self._manager.save(int(state.step), args=composite)

    def restore(self, like: TrainState) -> TrainState | None:
        """Read the latest valid state, in the form of `like`; None where there is none yet.

        A damaged checkpoint is skipped with a warning, and removed if an earlier one is whole.
        """
        damaged = {}
        for step in sorted(self._manager.all_steps(), reverse=True):
            try:
                about, state = self._read(step, like)
            except Exception as error:
                damaged[step] = f"step {step}: {type(error).__name__}: {str(error)[:200]}"
                continue
            self._check_settings(about)
            for bad, reason in damaged.items():
                warnings.warn(f"removed a damaged checkpoint, {reason}", stacklevel=2)
                self._manager.delete(bad)
            return state
        if damaged:
            reasons = "; ".join(damaged.values())
            raise CheckpointError(f"no checkpoint in {self.directory} can be read: {reasons}")
        return None

    def _read(self, step: int, like: TrainState) -> tuple[dict, TrainState | None]:
        args = self._args
        about = self._manager.restore(step, args=args.Composite(about=args.JsonRestore()))["about"]
        if about.get("format") != FORMAT:
            raise CheckpointError(f"expected format {FORMAT!r}, got {about.get('format')!r}")
        if about["settings"] != self.settings:
            return about, None  # refused by the caller: the arrays may have other shapes
        target = args.Composite(state=args.StandardRestore(_plain(like)))
        leaves = self._manager.restore(step, args=target)["state"]
        leaves = [
            jr.wrap_key_data(leaf, impl=jr.key_impl(old)) if leaf.dtype != old.dtype else leaf
            for leaf, old in zip(leaves, jax.tree.leaves(like), strict=True)
        ]
        state = jax.tree.unflatten(jax.tree.structure(like), leaves)
        if digest(state) != about["digest"]:
            raise CheckpointError("the arrays are not those that were written (digest)")
        return about, state

    def _check_settings(self, about: dict) -> None:
        old, new = about["settings"], self.settings
        differing = [
            f"{name} (there {str(old.get(name))[:60]}, here {str(new.get(name))[:60]})"
            for name in sorted({*old, *new})
            if old.get(name) != new.get(name)
        ]
        if differing:
            raise CheckpointError(
                f"{self.directory} holds another run, with other " + ", ".join(differing)
            )

    def close(self) -> None:
        """Let go of the folder."""
        self._manager.close()


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
