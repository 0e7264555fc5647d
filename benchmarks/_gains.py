"""Table and figure of gains by number of training functions, given the larger random context."""

from pathlib import Path

import numpy as np

import geomndp as gn

TICKS = (16, 32, 64, 128, 256, 512, 1024)


def larger_context(result: dict) -> str:
    """Name of the tasks with the larger random context."""
    kinds = next(iter(result["gains"].values()))
    return max((kind for kind in kinds if kind.startswith("ctx")), key=lambda kind: int(kind[3:]))


def best_simple(result: dict) -> str:
    """The simple model that is least behind."""
    kind = larger_context(result)
    return min(result["gains"], key=lambda name: result["gains"][name][kind][0])


def gain(result: dict, over: str | None = None) -> list[float]:
    """Mean and standard error of the gain over one simple model, by default the best."""
    return result["gains"][over or best_simple(result)][larger_context(result)]


def cells(results: list[dict]) -> tuple[list[str], list[list[str]]]:
    """Header and rows of the table of results."""
    rows = []
    for result in results:
        gains = ["{:+.3f} ± {:.3f}".format(*gain(result, over)) for over in ("GP", None)]
        weights = ", ".join(f"{name} {weight:.2f}" for name, weight in result["chosen"])
        named = [result["set"], str(result["functions"]), larger_context(result)]
        rows.append([*named, gains[0], best_simple(result), gains[1], weights])
    header = ["set", "training functions", "tasks", "gain over the GP", "best simple model"]
    return [*header, "gain over it", "chosen"], rows


def draw(results: list[dict], path: Path) -> None:
    """Gains with two standard errors by number of training functions, one line per set."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11.0, 3.6), layout="constrained", sharey=True)
    names = list(dict.fromkeys(result["set"] for result in results))
    for ax, over in zip(axes, ("GP", None), strict=True):
        for number, name in enumerate(names):
            own = [result for result in results if result["set"] == name]
            mean, error = np.array([gain(result, over) for result in own], float).T
            counts = np.array([result["functions"] for result in own]) * 1.03**number
            ax.errorbar(counts, mean, 2 * error, fmt="o-", ms=4, capsize=2, label=name)
        ax.axhline(0.0, color="#111111", lw=1.0, ls="--")
        title = "over the GP" if over else "over the best simple model"
        ax.set(xscale="log", xlabel="training functions", title=title)
        most = max(result["functions"] for result in results)
        ticks = [size for size in TICKS if size < 1.5 * most]
        ax.set_xticks(ticks, [str(tick) for tick in ticks])
        ax.minorticks_off()
    axes[0].set_ylabel("gain, joint nats per target")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, title="held-out functions of", loc="outside right upper")
    gn.plot.save_figure(figure, path)
