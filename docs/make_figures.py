"""Figures of the tutorials: `python docs/make_figures.py [PAGE ...]`, a few minutes.

The code of each page is run first, so that a figure shows the page's own variables; own data are
fitted anew with more steps.
"""

import contextlib
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

import jax
import matplotlib.pyplot as plt
from PIL import Image

import geomndp as gn

DOCS = Path(__file__).parent
FIGURES = DOCS / "figures"


def run(page: str, *changes: tuple[str, str]) -> dict[str, Any]:
    """Variables of a tutorial after its last block, with `changes` in its code."""
    text = (DOCS / "tutorials" / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    code = "\n".join(blocks)
    for old, new in changes:
        code = code.replace(old, new)
    variables: dict[str, Any] = {"__name__": page}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        exec(compile(code, page, "exec"), variables)
    plt.close("all")
    return variables


def save(figure, page: str) -> None:
    """Write one figure."""
    figure.tight_layout()
    path = gn.plot.save_figure(figure, FIGURES / f"tutorial_{page}.png")
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(128)
    small.save(path, optimize=True)
    plt.close(figure)


def scalar() -> None:
    """Samples beside the exact posterior."""
    page = run("scalar", ("2, 25)", "2, 81)"), ("25, 1)", "81, 1)"), ("64", "256"))
    x, exact = page["x"], page["exact"]
    law = exact.mean_at(x), exact.gram(x).diagonal() ** 0.5
    seen = page["x_seen"], page["y_seen"]
    figure, ax = plt.subplots(figsize=(6.4, 3))
    gn.plot.functions_1d(x, page["draws"], context=seen, exact=law, ax=ax)
    ax.legend(fontsize="small", ncols=2)
    save(figure, "scalar")


def vector() -> None:
    """Truth, a sample, the mean, and the exact mean."""
    page = run("vector")
    places, told, seen, truth = (page[name] for name in ("places", "told", "seen", "truth"))
    figure, axes = plt.subplots(1, 4, figsize=(11, 3))
    context, scale = (places[seen], truth[seen]), gn.plot.arrow_scale(places, truth)
    shown = {
        "truth": truth[told],
        "a sample": page["draws"][0],
        "mean of 16 samples": page["mean"].value,
        "exact mean": page["exact"].mean_at(places[told]),
    }
    for ax, (title, values) in zip(axes, shown.items(), strict=True):
        gn.plot.vector_field(places[told], values, context=context, scale=scale, title=title, ax=ax)
    save(figure, "vector")


def sphere() -> None:
    """Fifty continuations of ten fixes."""
    page = run("sphere")
    figure, ax = plt.subplots(figsize=(5.6, 4.6))
    gn.plot.fan_map(page["tracks"], context=page["fixes"], ax=ax)
    ax.legend(fontsize="small")
    save(figure, "sphere")


def own_data(steps: int = 3000) -> None:
    """Profiles given two readings, and the training curve."""
    page = run("own_data", ("steps=60", f"steps={steps}"), ("width=16", "width=32"))
    drawn = page["model"].condition(page["seen"])
    samples = drawn.sample(page["one"][["depth"]], key=jax.random.key(1), num_samples=64)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3))
    seen, values = page["seen"], samples["temperature"].values
    context = seen["depth"].values, seen["temperature"].values
    gn.plot.functions_1d(samples["depth"].values, values, context=context, ax=axes[0])
    axes[0].plot(page["depth"], page["one"]["temperature"], "k--", lw=1, label="the profile")
    axes[0].set(xlabel="depth, m", ylabel="temperature, degC")
    axes[0].legend(fontsize="small")
    gn.plot.training_curve(page["history"], ax=axes[1])
    save(figure, "own_data")


if __name__ == "__main__":
    figures = {"scalar": scalar, "vector": vector, "sphere": sphere, "own_data": own_data}
    for name in sys.argv[1:] or figures:
        figures[name]()
        print(f"wrote tutorial_{name}.png")
