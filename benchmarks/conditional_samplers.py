"""Exact KL(true posterior || sampler): the paper's ablation, and the frontier against cost.

python benchmarks/conditional_samplers.py [--quick] [--figure docs/figures/conditional_samplers.png]
python benchmarks/conditional_samplers.py --page docs/samplers.md --figure FIGURE

SE data (lengthscale 0.25, noise 0.05^2), 3 context points, 50 targets, exact score, white limiting
kernel; medians over 20 fixed tasks, the worst task in brackets. No Monte Carlo error: laws are
propagated exactly. A vector-Jacobian product counts as two evaluations. `--page` measures nothing:
the figure is drawn from the tables that a page shows.
"""

import argparse
import re
import sys
import time
from pathlib import Path

from _table import markdown
from _tasks import CONTEXTS, evaluations, exact_kl

from geomndp import samplers, solve
from geomndp.samplers.start import TERMS

CORRECTORS = (0, 1, 2, 5, 10, 25, 50)
SCHEMES = ("inner", "outer", "path", "none")
BUDGETS = (25, 50, 100, 150, 260, 510, 1000, 2500, 5000)
PRODUCTS = 1 + 2 * CONTEXTS  # of moment matching: a pass and the vector-Jacobian products
START = 1 + TERMS  # evaluations of a reverse pass before its first step
# Joint score: at most 0.025 with 260 and 0.008 with 510; conditional score: 0.012 and 0.006.
BARS = {
    "KineticLangevin": {260: 0.025, 510: 0.008},
    "Langevin": {260: 0.025, 510: 0.008},
    "MomentMatching": {260: 0.025, 510: 0.008},
    "Amortised": {100: 0.012, 150: 0.006},
}


def ablation(total: int, **options) -> dict[str, dict[int, samplers.AbstractProgramSampler]]:
    """A fixed number of evaluations, split between reverse and corrector steps.

    RePaint with one resampling is plain replacement.
    """
    time_grid = options["time_grid"]
    table: dict[str, dict[int, samplers.AbstractProgramSampler]] = {
        f"Langevin, context {scheme}": {
            num: samplers.Langevin(total // (1 + num), num, scheme, **options) for num in CORRECTORS
        }
        for scheme in SCHEMES
    }
    table["RePaint"] = {
        num: samplers.RePaint(total // num, num, time_grid=time_grid) for num in CORRECTORS if num
    }
    return table


def frontier(budget: int) -> dict[str, samplers.AbstractProgramSampler]:
    """Every sampler with its default time grid and at most `budget` evaluations."""
    steps = max(budget // 13, 1) if budget < 260 else 20 if budget <= 1000 else 40
    correctors = budget // steps - 1
    by_name: dict[str, samplers.AbstractProgramSampler] = {
        "Amortised": samplers.Amortised(budget - START),
        "Amortised, flow by RK4": samplers.flow((budget - START) // 4),
        "Amortised, flow by Heun": samplers.flow((budget - START) // 2, solve.Heun()),
        "Amortised, Euler-Maruyama": samplers.Amortised(budget - START, solve.EulerMaruyama()),
        "Amortised, exponential": samplers.Amortised(budget - START, solve.Exponential()),
    }
    if budget >= 50:
        by_name["MomentMatching"] = samplers.MomentMatching(budget // PRODUCTS - START)
    if budget >= 100:
        flow_steps = (budget // PRODUCTS - START) // 4
        by_name["MomentMatching, flow by RK4"] = samplers.MomentMatching(flow_steps, solve.Ode())
    by_name["KineticLangevin"] = samplers.KineticLangevin(steps, correctors)
    by_name["Langevin"] = samplers.Langevin(steps, correctors)
    by_name["RePaint, 10 resamplings"] = samplers.RePaint(max(budget // 10, 1), 10)
    by_name["Replacement"] = samplers.Replacement(budget)
    return by_name


def measured(table, columns) -> dict[str, dict[int, tuple[float, float]]]:
    """Median and worst KL of every sampler; a dot each on the way."""
    results = {}
    for name, row in table.items():
        results[name] = {}
        for column in (c for c in columns if c in row):
            results[name][column] = exact_kl(row[column])
            print(".", end="", file=sys.stderr, flush=True)
    return results


def read_page(path: Path):
    """The two ablations and the frontier as a page shows them: two digits are enough to draw."""
    tables = []
    for block in re.findall(r"(?:^\|.*\n)+", path.read_text(encoding="utf-8"), re.MULTILINE):
        header, _, *rows = [
            [cell.strip() for cell in line.strip("|").split("|")] for line in block.splitlines()
        ]
        if not (header[0] == "sampler" and all(name.isdigit() for name in header[1:])):
            continue
        table = {}
        for name, *cells in rows:
            pairs = zip(map(int, header[1:]), cells, strict=True)
            table[name] = {c: tuple(map(float, re.findall(r"[\de.+-]+", v))) for c, v in pairs if v}
        tables.append(table)
    ablations = [table for table in tables if set(next(iter(table.values()))) == {*CORRECTORS}]
    plain, steep = ablations
    return plain, steep, next(table for table in tables if table not in ablations)


def show(title: str, results, columns) -> None:
    """Print a table in markdown."""
    print(f"\n## {title}\n")
    rows = [
        [name, *("{:.2g} ({:.2g})".format(*row[c]) if c in row else "" for c in columns)]
        for name, row in results.items()
    ]
    print(markdown(["sampler", *map(str, columns)], rows), flush=True)


def main() -> None:
    """Read the arguments, measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the evaluations")
    parser.add_argument("--figure", type=Path, default=None)
    parser.add_argument("--page", type=Path, default=None, help="draw the tables of this page")
    options = parser.parse_args()
    if options.page:
        draw(*read_page(options.page), 5000, options.figure)
        return
    start, total = time.perf_counter(), 500 if options.quick else 5000
    budgets = [budget for budget in BUDGETS if budget <= max(total, 510)]
    plain = measured(ablation(total, time_grid=solve.UniformTimeGrid(), step_scale=1.0), CORRECTORS)
    show(
        f"Ablation: {total} evaluations by corrector steps; uniform times, step scale 1",
        plain,
        CORRECTORS,
    )
    steep = measured(ablation(total, time_grid=solve.PowerTimeGrid(7.0)), CORRECTORS)
    show(
        f"Ablation: {total} evaluations by corrector steps; default times and scale",
        steep,
        CORRECTORS,
    )
    by_name: dict[str, dict[int, samplers.AbstractProgramSampler]] = {}
    for budget in budgets:
        for name, sampler in frontier(budget).items():
            if evaluations(sampler) <= budget:
                by_name.setdefault(name, {})[budget] = sampler
    last = measured(by_name, budgets)
    show("Frontier: by score evaluations, at most", last, budgets)
    met = all(last[name][n][0] <= bar for name, bars in BARS.items() for n, bar in bars.items())
    print(f"\nBars met everywhere: {'yes' if met else 'no'}")
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)
    if options.figure:
        draw(plain, steep, last, total, options.figure)


def draw(plain, steep, last, total: int, path: Path) -> None:
    """The three tables as one figure."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from geomndp.plot import save_figure

    figure, axes = plt.subplots(1, 3, figsize=(16, 4.5), sharey=True, layout="constrained")
    titles = (f"{total} evaluations, uniform times", f"{total} evaluations, default times")
    colours = plt.get_cmap("tab20").colors[::2] + plt.get_cmap("tab20").colors[1::2]
    for ax, results, title in zip(axes, (plain, steep, last), (*titles, "frontier"), strict=True):
        for (name, row), colour in zip(results.items(), colours, strict=False):
            medians, worst = zip(*row.values(), strict=True)
            ax.plot(list(row), medians, "o-", ms=3, c=colour, label=name)
            ax.plot(list(row), worst, ":", c=colour)
        ax.set(title=title, yscale="log", ylim=(1e-6, 1e2))
    for ax in axes[:2]:
        ax.set(xlabel="corrector steps", xscale="symlog", xlim=(-0.1, 60))
        ax.set_xticks(CORRECTORS, map(str, CORRECTORS))
    axes[0].set(ylabel="KL(true || sampler): median, worst dotted")
    axes[0].legend(fontsize=8)
    axes[2].set(xlabel="score evaluations", xscale="log")
    axes[2].legend(fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    save_figure(figure, path)


if __name__ == "__main__":
    main()
