"""Figures of the home page and the tutorials: `python docs/make_figures.py [NAME ...]`, minutes.

The code of each page is run first, so that a figure shows the page's own variables; the model of
`own_data` is trained with more steps. Pages on real data need $GEOMNDP_DATA, and print the numbers
that they show; with `--folder FOLDER` their fits are kept there.
"""

import argparse
import contextlib
import re
import tempfile
from pathlib import Path
from typing import Any

import jax
import matplotlib.pyplot as plt
from PIL import Image

import geomndp as gn

DOCS = Path(__file__).parent
FIGURES = DOCS / "figures"


def run(page: str, *changes: tuple[str, str], folder: Path | None = None) -> dict[str, Any]:
    """Variables of a tutorial after its last block, with `changes` in its code."""
    text = (DOCS / "tutorials" / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    code = "\n".join(blocks)
    for old, new in changes:
        code = code.replace(old, new)
    variables: dict[str, Any] = {"__name__": page}
    with tempfile.TemporaryDirectory() as other, contextlib.chdir(folder or other):
        exec(compile(code, page, "exec"), variables)
    plt.close("all")
    return variables


def save(figure, name: str) -> None:
    """Write one figure with a palette of 128 colours."""
    figure.tight_layout()
    path = gn.plot.save_figure(figure, FIGURES / f"{name}.png")
    with Image.open(path) as image:
        small = image.convert("RGB").quantize(128)
    small.save(path, optimize=True)
    plt.close(figure)


def scalar() -> None:
    """Samples beside the exact posterior."""
    page = run("scalar", ("2, 25)", "2, 81)"), ("25, 1)", "81, 1)"), ("64", "256"))
    x, exact = page["x"], page["exact"]
    law = exact.mean_at(x), exact.gram(x).diagonal() ** 0.5
    context = page["x_context"], page["y_context"]
    figure, ax = plt.subplots(figsize=(6.4, 3))
    gn.plot.functions_1d(x, page["draws"], context=context, exact=law, ax=ax)
    ax.legend(fontsize="small", ncols=2)
    save(figure, "tutorial_scalar")


def vector() -> None:
    """Truth, a sample, the mean, and the exact mean."""
    page = run("vector")
    x, truth, target = page["x"], page["truth"], page["target"]
    figure, axes = plt.subplots(1, 4, figsize=(11, 3))
    context = x[page["context"]], truth[page["context"]]
    scale = gn.plot.arrow_scale(x, truth)
    fields = {
        "truth": truth[target],
        "posterior sample": page["draws"][0],
        "mean of 16 samples": page["mean"].value,
        "exact posterior mean": page["exact"].mean_at(x[target]),
    }
    for ax, (title, values) in zip(axes, fields.items(), strict=True):
        gn.plot.vector_field(x[target], values, context=context, scale=scale, title=title, ax=ax)
    save(figure, "tutorial_vector")


def sphere() -> None:
    """Fifty sampled tracks given ten fixes."""
    page = run("sphere")
    figure, ax = plt.subplots(figsize=(5.6, 4.6))
    gn.plot.fan_map(page["tracks"], context=page["fixes"], ax=ax)
    ax.legend(fontsize="small")
    save(figure, "tutorial_sphere")


def own_data(steps: int = 3000) -> None:
    """Profiles given two observations, and the training curve."""
    page = run("own_data", ("steps=60", f"steps={steps}"), ("width=16", "width=32"))
    profile, observed = page["profile"], page["context"]
    posterior = page["model"].condition(observed)
    samples = posterior.sample(profile[["depth"]], key=jax.random.key(1), num_samples=64)
    figure, axes = plt.subplots(1, 2, figsize=(9, 3))
    values = samples["temperature"].values
    context = observed["depth"].values, observed["temperature"].values
    gn.plot.functions_1d(samples["depth"].values, values, context=context, ax=axes[0])
    axes[0].plot(page["depth"], profile["temperature"], "k--", lw=1, label="truth")
    axes[0].set(xlabel="depth, m", ylabel="temperature, degC")
    axes[0].legend(fontsize="small")
    gn.plot.training_curve(page["history"], ax=axes[1])
    save(figure, "tutorial_own_data")


def home() -> None:
    """A function, a vector field and tracks, each given a few observations."""
    scalar = run("scalar", ("2, 25)", "2, 81)"), ("25, 1)", "81, 1)"))
    vector, sphere = run("vector"), run("sphere")
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6))
    context = scalar["x_context"], scalar["y_context"]
    gn.plot.functions_1d(scalar["x"], scalar["draws"], context=context, ax=axes[0])
    axes[0].set_title("function given 3 observations")
    x, truth, target = vector["x"], vector["truth"], vector["target"]
    context = x[vector["context"]], truth[vector["context"]]
    title = "vector field given 8 observations"
    gn.plot.vector_field(x[target], vector["draws"][0], context=context, title=title, ax=axes[1])
    gn.plot.fan_map(sphere["tracks"], context=sphere["fixes"], ax=axes[2])
    axes[2].set_title("cyclone tracks given 10 fixes")
    save(figure, "home")


def three_above_two() -> tuple[Any, list[Any]]:
    """A figure with axes for three maps, and under them for two comparisons."""
    figure, axes = plt.subplot_mosaic("AABBCC;DDDEEE", figsize=(11, 6.6))
    return figure, [axes[name] for name in "ABCDE"]


def real_curves(folder: Path | None) -> None:
    """Heights of one child given those up to 8 years; gains on all test children."""
    page = run("real_curves", folder=folder)
    child, seen = page["child"], page["seen"]
    samples = page["posterior"].sample(child, key=1, num_samples=256)
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.4))
    gn.plot.functions_1d(samples, context=seen, ax=axes[0])
    axes[0].plot(child["age_years"], child["height_cm"], "k--", lw=1, label="truth")
    axes[0].legend(fontsize="small")
    gn.plot.task_comparison(page["results"], axes=axes[1:])
    save(figure, "real_curves")


def real_fields(folder: Path | None) -> None:
    """Truth with the stations, mean and standard deviation; gains on all test times."""
    page = run("real_fields", folder=folder)
    night, stations = page["night"], page["stations"]
    figure, axes = three_above_two()
    fields = {"truth": night, "mean": page["mean"], "standard deviation": page["std"]}
    limits = {"vmin": night["t2m_C"].min(), "vmax": night["t2m_C"].max()}
    for ax, (title, field) in zip(axes, fields.items(), strict=False):
        grid = field.pivot(index="y_km", columns="x_km", values="t2m_C")
        options = {} if title == "standard deviation" else limits
        drawn = ax.pcolormesh(grid.columns, grid.index, grid.to_numpy(), **options)
        figure.colorbar(drawn, ax=ax, label="degC")
        ax.plot(stations["x_km"], stations["y_km"], "o", color="#111111", ms=3)
        ax.set(title=title, xlabel="x_km", ylabel="y_km", aspect="equal")
    gn.plot.task_comparison(page["results"], axes=axes[3:])
    save(figure, "real_fields")


def real_vectors(folder: Path | None) -> None:
    """Truth, a sample and the mean of one box; gains on all boxes that came later."""
    page = run("real_vectors", folder=folder)
    box, outputs = page["box"], page["outputs"]
    x, truth = box[page["inputs"]].to_numpy(), box[outputs].to_numpy()
    context = tuple(page["buoys"][names].to_numpy() for names in (page["inputs"], outputs))
    sample = page["posterior"].sample(box, key=1, num_samples=1)[outputs].to_numpy()
    fields = {"truth": truth, "posterior sample": sample, "mean": page["mean"][outputs].to_numpy()}
    figure, axes = three_above_two()
    scale = gn.plot.arrow_scale(x, truth)
    for ax, (title, values) in zip(axes, fields.items(), strict=False):
        gn.plot.vector_field(x, values, context=context, scale=scale, title=title, ax=ax)
    gn.plot.task_comparison(page["results"], axes=axes[3:])
    save(figure, "real_vectors")


def real_tracks(folder: Path | None) -> None:
    """Sampled tracks of one storm; gains on all storms that came later."""
    page = run("real_tracks", folder=folder)
    figure, axes = plt.subplots(1, 3, figsize=(13, 3.6))
    gn.plot.fan_map(page["tracks"], context=page["fixes"], truth=page["ahead"], ax=axes[0])
    axes[0].legend(fontsize="small")
    gn.plot.task_comparison(page["results"], axes=axes[1:])
    save(figure, "real_tracks")


def main() -> None:
    """Draw the figures of these names, or all that need no data."""
    simple = {"home": home, "scalar": scalar, "vector": vector, "sphere": sphere}
    simple["own_data"] = own_data
    real = {"real_curves": real_curves, "real_fields": real_fields}
    real |= {"real_vectors": real_vectors, "real_tracks": real_tracks}
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=list(simple))
    parser.add_argument("--folder", type=Path, default=None)
    options = parser.parse_args()
    for name in options.names:
        real[name](options.folder) if name in real else simple[name]()
        print(f"drew {name}")


if __name__ == "__main__":
    main()
