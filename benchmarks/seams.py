"""Seams of divergence-free fields that are drawn by patches, against the exact process.

    python benchmarks/seams.py --size 48 --samples 256 --figure seams.png
    python benchmarks/seams.py --model vector-fields/div-free --size 96 --samples 16 --steps 8

Prints z-scores (root mean squares; 1 is perfect) of means, variances and covariances of neighbours,
those across a seam apart from all others, the ratio of the mean periodogram to its exact
expectation by wavelength, and the divergence of the scheme in closed form where the field is small
enough. Without --model the law is the exact process itself, so that only the scheme is measured.
"""

from __future__ import annotations

import argparse
import json

import jax
import numpy as np
import xarray as xr

import geomndp as gn
from geomndp.model.patchwise import patchwise_field
from geomndp.samplers import Amortised

SPACING = 20 / 29
KERNEL, NOISE = gn.kernels.DivergenceFree(5**0.5), 0.02


def law(name: str | None):
    """The model: a shipped one, or the exact process."""
    if name is not None:
        return gn.load(name)
    exact = gn.ProcessModel(gn.gp.GP(KERNEL, noise=NOISE))
    return exact.with_variables(("x", "y"), ("u", "v"))


def draw(options: argparse.Namespace):
    """Samples (s, n, n, 2) and the layout of their patches."""
    model = law(options.model)
    axis = SPACING * np.arange(options.size)
    names = model.variables.input_names
    grid = xr.Dataset(coords={name: (name, axis) for name in names})
    sampler = {} if options.model is None else {"sampler": Amortised(options.steps)}
    values = gn.patches.MemoryValues()
    request = (options.seed, options.samples, options.patches, values)
    field = patchwise_field(model.condition(), grid, *request, **sampler)
    gn.patches.run(field, progress=True)
    shape = (options.samples, options.size, options.size, 2)
    return values.field(field.layout).reshape(shape), field.layout


def rms(values: np.ndarray) -> float:
    """Root mean square."""
    return round(float(np.sqrt(np.mean(np.square(values)))), 3)


def exact_covariance(lag: tuple[float, float]) -> np.ndarray:
    """Covariance (2, 2) of the values at two points, noise included."""
    with jax.enable_x64(True):
        covariance = np.asarray(KERNEL(jax.numpy.zeros(2), jax.numpy.asarray(lag)))
    return covariance + NOISE * np.eye(2) * (lag == (0.0, 0.0))


def z_scores(y: np.ndarray, layout) -> tuple[dict, np.ndarray]:
    """Z-scores by kind, and the map (n, n) of those of the variance of u."""
    s, own = len(y), np.diag(exact_covariance((0.0, 0.0)))
    of_mean = y.mean(axis=0) / np.sqrt(own / s)
    of_variance = ((y**2).mean(axis=0) - own) / (own * np.sqrt(2 / s))
    across, within = [], []
    for axis in (0, 1):
        lag = (SPACING, 0.0) if axis == 0 else (0.0, SPACING)
        expected = np.diag(exact_covariance(lag))
        first, second = (
            np.moveaxis(y, 1 + axis, 1)[:, part] for part in (slice(-1), slice(1, None))
        )
        error = np.sqrt((own**2 + expected**2) / s)
        z = ((first * second).mean(axis=0) - expected) / error
        at_seam = (np.arange(len(z)) + 1) % layout.levels[-1].chunks[axis] == 0
        across.append(z[at_seam].reshape(-1))
        within.append(z[~at_seam].reshape(-1))
    scores = {"mean": of_mean, "variance": of_variance}
    scores |= {"across seams": np.concatenate(across), "within": np.concatenate(within)}
    return {name: rms(values) for name, values in scores.items()}, of_variance[..., 0]


def spectrum_ratio(y: np.ndarray) -> dict[str, float]:
    """Mean periodogram of u over its exact expectation, by wavelength in units of the inputs."""
    n = y.shape[1]
    lags = SPACING * np.arange(-(n - 1), n)
    with jax.enable_x64(True):
        points = jax.numpy.asarray(np.stack(np.meshgrid(lags, lags, indexing="ij"), -1))
        row = jax.vmap(lambda lag: KERNEL(jax.numpy.zeros(2), lag)[0, 0])
        covariance = np.asarray(row(points.reshape(-1, 2))).reshape(2 * n - 1, 2 * n - 1).copy()
    covariance[n - 1, n - 1] += NOISE
    overlap = n - np.abs(np.arange(-(n - 1), n))
    weighted = covariance * overlap[:, None] * overlap[None, :]
    folded = np.zeros((n, n))
    np.add.at(folded, np.ix_(*[np.arange(-(n - 1), n) % n] * 2), weighted)
    expected = np.fft.fft2(folded).real
    mean = np.mean(np.abs(np.fft.fft2(y[..., 0], axes=(1, 2))) ** 2, axis=0)
    frequency = np.hypot(*np.meshgrid(*[np.fft.fftfreq(n, SPACING)] * 2))
    found = {}
    for low, high in ((4, 8), (8, 16), (16, 32), (32, 64)):
        inside = (frequency > 1 / high) & (frequency <= 1 / low)
        if inside.any():
            found[f"{low} to {high}"] = round(float(mean[inside].sum() / expected[inside].sum()), 3)
    return found


def save_figure(path: str, y: np.ndarray, variance: np.ndarray) -> None:
    """One sample, and the z-scores of the variance at every point."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
    shown = ((y[0, ..., 0], "one sample of u", None), (variance, "z-score of the variance", 4))
    for ax, (values, title, limit) in zip(axes, shown, strict=True):
        image = ax.imshow(values.T, origin="lower", cmap="RdBu", vmin=limit and -limit, vmax=limit)
        ax.set(title=title, xticks=[], yticks=[])
        figure.colorbar(image, ax=ax)
    figure.savefig(path, dpi=110)


def main() -> None:
    """Draw, compare, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default=None)
    parser.add_argument("--size", type=int, default=40)
    parser.add_argument("--samples", type=int, default=64)
    parser.add_argument("--steps", type=int, default=8)
    parser.add_argument("--patches", default="auto")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--figure", default=None)
    options = parser.parse_args()
    y, layout = draw(options)
    scores, variance = z_scores(y, layout)
    result = {"chunks": layout.levels[-1].chunks, "scheme": layout.scheme.description}
    result |= {"z": scores, "spectrum": spectrum_ratio(y)}
    if 2 * options.size**2 <= gn.patches.kl.MAX_VALUES // 3:
        kl = gn.patches.scheme_kl(KERNEL, layout, NOISE)
        result["nats_per_point"] = round(kl.per_point, 6)
    print(json.dumps(result))
    if options.figure is not None:
        save_figure(options.figure, y, variance)


if __name__ == "__main__":
    main()
