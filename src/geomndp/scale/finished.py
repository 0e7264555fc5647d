"""Finished chunks in a folder: written atomically, and used again by the same request only."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

from geomndp import _atomic_io
from geomndp.train.fingerprint import differences

REQUEST = "request.json"


class FinishedChunks:
    """A folder with one file per finished chunk, and one that says what they are chunks of.

    Args:
        folder: The folder, made where it is missing.
        request: Description of all that results depend on but the chunk itself, as
            `train.fingerprint` gives it.

    Raises:
        ValueError: If the folder has chunks of another request; the message names the differences.
    """

    def __init__(self, folder: str | os.PathLike, request: dict[str, Any]):
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self.folder / REQUEST
        if path.exists():
            self._compare(json.loads(path.read_text(encoding="utf-8")), request)
        elif any(self.folder.iterdir()):
            raise ValueError(f"expected an empty folder or one of the same request, got {folder}")
        else:
            _atomic_io.write(path, json.dumps(request, indent=1))

    def _compare(self, known: dict[str, Any], request: dict[str, Any]) -> None:
        if known != request:
            listed = "; ".join(differences(known, request))
            raise ValueError(f"expected the request that {self.folder} was made for, got: {listed}")

    def read(self, number: int, digest: str) -> list[np.ndarray] | None:
        """Arrays of a finished chunk, None where there are none.

        Args:
            number: That of the chunk.
            digest: Digest of the chunk itself.

        Raises:
            ValueError: If the chunk was another one, or its file is damaged.
        """
        path = self._path(number)
        if not path.exists():
            return None
        try:
            with open(path, "rb") as opened, np.load(opened, allow_pickle=False) as file:
                known = str(file["digest"])
                arrays = [file[f"{i:06d}"] for i in range(int(file["count"]))]
        except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile) as error:
            raise ValueError(f"expected a finished chunk in {path}, got a damaged file") from error
        if known != digest:
            raise ValueError(f"expected the tasks of {path} as they were, got others")
        return arrays

    def write(self, number: int, digest: str, arrays: list[np.ndarray]) -> None:
        """Keep the arrays of a finished chunk."""
        named: dict[str, Any] = {f"{i:06d}": array for i, array in enumerate(arrays)}
        with _atomic_io.replacing(self._path(number)) as temporary:
            with open(temporary, "wb") as file:
                np.savez(file, digest=np.array(digest), count=np.array(len(arrays)), **named)

    def _path(self, number: int) -> Path:
        return self.folder / f"chunk-{number:06d}.npz"
