"""Tables of README and docs, written from the results that come with the package.

    python tools/tables.py            # write them
    python tools/tables.py --check    # exit code 1 where a page differs

A page marks a table by the experiment and the table's title, as `geomndp reproduce` prints it:

    <!-- table: regression1d / Calibration of posterior samples -->
    <!-- end of table -->

In place of an experiment there may be a benchmark whose results are in `benchmarks/results`, or
"shipped": sizes and training of the shipped models, as `geomndp list --training` prints them.
"""

from __future__ import annotations

import argparse
import functools
import json
import re
import sys
from pathlib import Path

from geomndp.cli.training_table import training_table
from geomndp.experiments import registry
from geomndp.experiments.table import Table

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
BLOCK = re.compile(
    r"(<!-- table: (?P<experiment>[\w-]+) / (?P<title>[^\n]+?) -->\n).*?(<!-- end of table -->)",
    re.DOTALL,
)


@functools.cache
def tables(experiment: str) -> dict[str, str]:
    """Markdown of an experiment's or a benchmark's tables by title."""
    if (stored := RESULTS / f"{experiment}.json").exists():
        table = json.loads(stored.read_text(encoding="utf-8"))["table"]
        rows = [tuple(row) for row in table["cells"]]
        return {table["title"]: Table(table["title"], tuple(table["header"]), rows).markdown()}
    if experiment == "shipped":
        shipped = training_table()
        return {shipped.title: shipped.markdown()}
    entry = registry.experiment(experiment)
    return {table.title: table.markdown() for table in entry.report(entry.read_results())}


def update_tables(text: str) -> str:
    """A page with its marked tables as they should be."""

    def block(match: re.Match) -> str:
        known = tables(match["experiment"])
        if match["title"] not in known:
            listed = "; ".join(known)
            raise ValueError(
                f"expected a table of {match['experiment']} ({listed}), got {match[0]}"
            )
        return f"{match[1]}\n{known[match['title']]}\n{match[4]}"

    return BLOCK.sub(block, text)


def pages() -> list[Path]:
    """Pages that have marked tables."""
    candidates = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    return sorted(path for path in candidates if BLOCK.search(path.read_text(encoding="utf-8")))


def main() -> int:
    """Write all tables, or check them."""
    parser = argparse.ArgumentParser(description="Write the tables of README and docs.")
    parser.add_argument("--check", action="store_true", help="write nothing, tell what differs")
    check, code = parser.parse_args().check, 0
    for path in pages():
        text = path.read_text(encoding="utf-8")
        if (new := update_tables(text)) != text:
            print(f"{'differs' if check else 'written'}: {path.relative_to(ROOT)}")
            code = int(check)
            if not check:
                path.write_text(new, encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main())
