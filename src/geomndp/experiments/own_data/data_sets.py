"""What is known of every set beforehand, as its README and `meta.json` say; no tuned setting.

A folder of sets holds for each `data.csv[.gz]` (one row per point: function, inputs, outputs),
`meta.json` (columns, period, order), `split.json`, `tasks.json` and `results.json` (baselines).
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, NamedTuple

FUNCTION, GROUP = "function", "group"
VARIABLE = "GEOMNDP_DATA"
"""Environment variable of the folder whose `functions` holds the sets."""


class Facts(NamedTuple):
    """What README says in words.

    Attributes:
        symmetry: Suggested symmetry.
        codomain: "sphere" for tracks.
        outputs: Outputs that are evaluated, those of `meta.json` without.
        groups: What parts the name of a function from that of its group, such as a person.
    """

    symmetry: str = "none"
    codomain: str = "real"
    outputs: tuple[str, ...] = ()
    groups: str = ""


FACTS = {
    "cyclones_sh": Facts("translation", "sphere", ("lat", "lon")),
    "dti_cca": Facts(groups="_"),
    "gfs_boxes": Facts("E(2)", groups="_"),
    "ozone": Facts("E(2)"),
}
"""Sets of which there is more to say than `meta.json` does."""


class FunctionSet(NamedTuple):
    """One set.

    Attributes:
        name: Its name.
        table: One row per point, all functions.
        train: Names of the training functions.
        options: Arguments of `gn.build`.
        tasks: Tasks on the test functions.
        published: Baselines by name, from the folder.
    """

    name: str
    table: Any
    train: tuple[str, ...]
    options: dict[str, Any]
    tasks: list[dict[str, Any]]
    published: dict[str, Any]

    @property
    def training_table(self) -> Any:
        """Rows of the training functions."""
        return self.table[self.table[FUNCTION].isin(self.train)]


def find_folder(data: str | None) -> Path:
    """Folder of the sets.

    Args:
        data: The folder, or None for that of the environment.

    Returns:
        A folder that holds at least one set.

    Raises:
        ValueError: If there is none.
    """
    if data is None and VARIABLE in os.environ:
        data = str(Path(os.environ[VARIABLE]) / "functions")
    if data is None:
        raise ValueError(f"expected --data FOLDER with the sets, or ${VARIABLE}, got none")
    if not set_names(Path(data)):
        raise ValueError(f"expected sets with a meta.json in {data}, got none")
    return Path(data)


def set_names(folder: Path) -> tuple[str, ...]:
    """Names of the sets in a folder."""
    return tuple(sorted(path.parent.name for path in folder.glob("*/meta.json")))


def read_set(folder: Path, name: str) -> FunctionSet:
    """Read one set.

    Args:
        folder: Folder of the sets.
        name: Name of the set.

    Returns:
        Its table, split, tasks and published baselines.

    Raises:
        ValueError: If there is no such set, or a file of it is missing.
    """
    import pandas as pd

    if name not in set_names(folder):
        known = ", ".join(set_names(folder))
        raise ValueError(f"expected one of the sets {known}, got {name!r}")
    path = folder / name
    try:
        meta, split, tasks, results = (
            json.loads((path / f"{part}.json").read_bytes())
            for part in ("meta", "split", "tasks", "results")
        )
        table = pd.read_csv(path / meta["file"], dtype={FUNCTION: str})
    except (OSError, ValueError, KeyError) as error:
        raise ValueError(f"expected a whole set in {path}, got {error}") from error
    facts = FACTS.get(name, Facts())
    if facts.groups:
        table[GROUP] = table[FUNCTION].str.partition(facts.groups)[0]
    options = build_options(meta, facts)
    return FunctionSet(
        name, table, tuple(split["train"]), options, tasks["tasks"], results["models"]
    )


def build_options(meta: dict[str, Any], facts: Facts) -> dict[str, Any]:
    """Arguments of `gn.build` for a set: names, symmetry, period, order of time and groups."""
    options: dict[str, Any] = {
        "function": FUNCTION,
        "inputs": tuple(meta["inputs"]),
        "outputs": facts.outputs or tuple(meta["outputs"]),
        "symmetry": facts.symmetry,
        "codomain": facts.codomain,
        "ordered": bool(meta.get("ordered", False)),
    }
    if facts.groups:
        options["groups"] = GROUP
    if meta.get("period"):
        options["periodic"] = {meta["inputs"][0]: float(meta["period"])}
    return options
