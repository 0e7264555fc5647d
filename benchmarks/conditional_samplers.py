"""Exact KL(true posterior || sampler): the paper's ablation, and the frontier against cost.

python benchmarks/conditional_samplers.py [--quick] [--figure docs/figures/conditional_samplers.png]

SE data (lengthscale 0.25, noise 0.05^2), 3 context points, 50 targets, exact score, white limiting
kernel; medians over 20 fixed tasks, the worst task in brackets. No Monte Carlo error: laws are
propagated exactly. A vector-Jacobian product counts as two evaluations.
"""

import argparse
import sys
from pathlib import Path

from _table import markdown
from _tasks import evaluations, exact_kl

from geomndp import samplers, solve

INNERS = (0, 1, 2, 5, 10, 25, 50)
SCHEMES = ("inner", "outer", "path", "none")
BUDGETS = (25, 50, 100, 150, 260, 510, 1000, 2000, 5000)
UNIFORM = solve.Uniform()


def ablation(budget: int) -> dict[str, dict[int, samplers.AbstractSampler]]:
    """The paper's setting: a fixed number of evaluations, split between outer and inner steps.

    Uniform time steps, as in the paper; RePaint with one inner step is plain replacement.
    """
    table = {
        f"Langevin, context {scheme}": {
            inner: samplers.Langevin(budget // (1 + inner), inner, scheme, grid=UNIFORM)
            for inner in INNERS
        }
        for scheme in SCHEMES
    }
    table["RePaint"] = {
        inner: samplers.RePaint(budget // max(inner, 1), max(inner, 1), grid=UNIFORM)
        for inner in INNERS
    }
    return table


def frontier(budget: int) -> dict[str, samplers.AbstractSampler]:
    """Every sampler with its default grid and about `budget` evaluations."""
    products = 1 + 2 * 3  # of moment matching: a pass and three vector-Jacobian products
    inner = 12 if budget < 400 else 25
    found: dict[str, samplers.AbstractSampler] = {
        "Amortised": samplers.Amortised(budget),
        "Amortised, Euler-Maruyama": samplers.Amortised(budget, solve.EulerMaruyama()),
        "Amortised, exponential": samplers.Amortised(budget, solve.Exponential()),
        "Amortised, flow by RK4": samplers.flow(max(budget // 4, 1)),
        "Amortised, flow by Heun": samplers.flow(max(budget // 2, 1), solve.Heun()),
        "Replacement": samplers.Replacement(budget),
        "RePaint, 10 inner": samplers.RePaint(max(budget // 10, 1), 10),
        "Langevin": samplers.Langevin(max(budget // (1 + inner), 1), inner),
        "KineticLangevin": samplers.KineticLangevin(max(budget // (1 + inner), 1), inner),
    }
    if budget >= 3 * products:
        found["MomentMatching"] = samplers.MomentMatching(budget // products)
    return found


def cell(sampler) -> tuple[str, float]:
    """Text and median."""
    median, worst = exact_kl(sampler)
    print(".", end="", file=sys.stderr, flush=True)
    return f"{median:.2g} ({worst:.2g})", median


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the evaluations")
    parser.add_argument("--figure", type=Path, default=None)
    options = parser.parse_args()
    total = 500 if options.quick else 5000
    budgets = [b for b in BUDGETS if b <= total]
    first = {
        name: {inner: cell(sampler) for inner, sampler in row.items()}
        for name, row in ablation(total).items()
    }
    print(f"\n## Ablation: {total} score evaluations, by inner steps\n")
    rows = [[name, *(text for text, _ in row.values())] for name, row in first.items()]
    print(markdown(["sampler", *map(str, INNERS)], rows))
    second: dict[str, dict[int, tuple[str, float]]] = {}
    for budget in budgets:
        for name, sampler in frontier(budget).items():
            text, median = cell(sampler)
            second.setdefault(name, {})[budget] = (f"{text} @{evaluations(sampler)}", median)
    print("\n## Frontier: by score evaluations (exact number after @)\n")
    rows = [[name, *(row.get(b, ("",))[0] for b in budgets)] for name, row in second.items()]
    print(markdown(["sampler", *map(str, budgets)], rows))
    if options.figure:
        draw(first, second, total, options.figure)


def draw(first, second, total: int, path: Path) -> None:
    """Both tables as one figure."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from geomndp.plot import save_figure

    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 4.5))
    for name, row in first.items():
        left.plot(list(row), [median for _, median in row.values()], "o-", label=name, ms=3)
    for name, row in second.items():
        right.plot(list(row), [median for _, median in row.values()], "o-", label=name, ms=3)
    left.set(
        xlabel="inner steps", title=f"{total} score evaluations, uniform time", xscale="symlog"
    )
    right.set(xlabel="score evaluations", title="default grids", xscale="log")
    for ax in (left, right):
        ax.set(yscale="log", ylabel="KL(true || sampler), median of 20", ylim=(1e-5, 1e2))
        ax.legend(fontsize=7)
    save_figure(figure, path)


if __name__ == "__main__":
    main()
