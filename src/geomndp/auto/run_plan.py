"""Decisions of a run that time took: written to its folder at once, read when it is resumed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from geomndp import _atomic_io


class RunPlan:
    """Decisions of a run by name, kept in `plan.json`: what was decided once stays decided."""

    def __init__(self, folder: Path | None, settings: dict[str, Any]):
        """Open or make the plan.

        Args:
            folder: The run's folder; None keeps decisions in memory.
            settings: What the run was called with (JSON).

        Raises:
            ValueError: If the folder holds a plan of a call with other settings.
        """
        self._path = None if folder is None else folder / "plan.json"
        settings = json.loads(json.dumps(settings))
        self.decisions: dict[str, Any] = {"settings": settings}
        if self._path is not None and self._path.exists():
            self.decisions = json.loads(self._path.read_text(encoding="utf-8"))
            there = self.decisions.get("settings", {})
            differing = [name for name in settings if there.get(name) != settings[name]]
            if differing:
                name = differing[0]
                raise ValueError(
                    f"expected the run of {self._path} with {name} {there.get(name)}, "
                    f"got {settings[name]}; choose another folder"
                )
        self._write()

    def decide(self, name: str, make: Any) -> Any:
        """The decision of this name: the one in the folder, else the one that `make()` takes now.

        Args:
            name: Its name.
            make: Called without arguments where nothing is decided yet; returns JSON.

        Returns:
            The decision.
        """
        if name not in self.decisions:
            self.decisions[name] = json.loads(json.dumps(make()))
            self._write()
        return self.decisions[name]

    def _write(self) -> None:
        if self._path is not None:
            _atomic_io.write(self._path, json.dumps(self.decisions, indent=1) + "\n")
