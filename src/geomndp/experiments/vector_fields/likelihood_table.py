"""The paper's vector-field table: shipped models and exact processes beside published figures.

Printing it needs no JAX.
"""

from __future__ import annotations

import math

from geomndp import _pretrained
from geomndp.experiments.regression1d.likelihood_table import number
from geomndp.experiments.table import Table, pair

FOLDER = "vector-fields"
COLUMNS = ("se", "curl-free", "div-free")
PAPER = {
    "GP, paper": (0.56, 0.66, 0.66),
    "GP, diagonal, paper": (-1.56, -1.47, -1.47),
    "E(2)-GeomNDP, paper": (0.56, 0.65, 0.66),
    "NDP*, paper": (0.55, 0.62, 0.62),
    "ConvCNP, paper": (-1.71, -1.77, -1.76),
    "SteerCNP, paper": (-1.61, -1.57, -1.57),
}
"""Mathieu et al. 2023, nats per point, both components together, errors at most 0.01."""
KINDS = {"E(2)-GeomNDP": "", "NDP*": "-ndp"}


def shipped() -> list[str]:
    """Names of the vector- and tensor-field models that come with the package."""
    return [name for name in _pretrained.names() if name.startswith(f"{FOLDER}/")]


def columns() -> tuple[str, ...]:
    """The paper's data sets, and others for which an equivariant model ships."""
    others = (name.partition("/")[2] for name in shipped() if not name.endswith("-ndp"))
    return (*COLUMNS, *(name for name in others if name not in COLUMNS))


def metrics(name: str, route: str = "conditional") -> dict:
    """What was measured of a model by its short name; nothing if it was not."""
    full = f"{FOLDER}/{name}"
    if full not in shipped():
        return {}
    found = _pretrained.metadata(full)["metrics"].get("interpolation", {})
    return found if route == "conditional" else found.get(route, {})


def tables() -> list[Table]:
    """Log-likelihoods, and what is known of the errors of their computation."""
    return [table for table in (likelihoods(), errors()) if table.rows]


def likelihoods() -> Table:
    """All rows; an empty cell was not measured or not published."""
    rows = []
    for label, key in (("GP, exact", "gp"), ("GP, diagonal", "diagonal_gp")):
        rows.append((label, *(_process(name, key) for name in columns())))
    for label, suffix in KINDS.items():
        for route, words in (("conditional", ""), ("joint", ", joint route")):
            found = [metrics(name + suffix, route) for name in columns()]
            for key, start in (("log_prob", ""), ("regret", "regret of ")):
                cells = (number(*part[key]) if key in part else "" for part in found)
                rows.append((f"{start}{label}{words}", *cells))
    rows = [row for row in rows if any(row[1:])]
    blank = ("",) * (len(columns()) - len(COLUMNS))
    rows += [(label, *map(number, values), *blank) for label, values in PAPER.items()]
    return Table("Log-likelihood, nats per point", ("", *columns()), rows)


def _process(name: str, key: str) -> str:
    """A figure of the exact process, which all models of a data set share."""
    for suffix in KINDS.values():
        found = metrics(name + suffix)
        if key in found:
            return number(*found[key])
    return ""


def errors() -> Table:
    """Test fields, probes, errors of solver and of probes, of one field and of the mean."""
    rows = []
    for name in shipped():
        for route in ("conditional", "joint"):
            found = metrics(name.partition("/")[2], route)
            if found:
                probe, num = found["probe_error"], found["num"]
                cells = (f"{probe:.5f}", f"{probe / math.sqrt(num):.5f}")
                cells = (*cells, f"{found['solver_error']:.5f}", pair(found["regret"]))
                rows.append((name, route, str(num), str(found["probes"]), *cells))
    header = ("model", "route", "fields", "probes", "probe error of a field", "of the mean")
    header += ("solver error", "regret")
    return Table("Errors of the likelihoods, nats per point", header, rows)
