"""Long wavelengths of fields that a network draws: in one pass, by patches, and given a frame.

    python benchmarks/spectra.py --size 124 --schemes auto
    python benchmarks/spectra.py --size 30 45 --schemes one-pass --samples 256
    python benchmarks/spectra.py --size 186 --schemes auto width=21.4,halo=9 --samples 16
    python benchmarks/spectra.py --size 31 --frame 8 --samples 128

prints the mean periodogram over its exact expectation by wavelength, with the standard error of as
many samples of the exact law, of divergence-free fields of every size and scheme: "one-pass" draws
all points at once, others are those of `posterior.sample(..., patches=...)`. Without samples it is
the expectation for the exact process by the same patches, in closed form. `--frame` draws the
points inside of a frame, so many points wide, of which the values are exact draws, two samples
each: the mean square of what differs from the exact conditional mean, over its exact expectation,
for Fourier modes of the patch, the first of which is its average ("both"), and what two samples of
one frame have of it in common ("common"), the error of the network's conditional mean; 1 and 0 are
perfect. "nats per point" is what the ratios cost.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

import _threads  # noqa: F401
import jax
import jax.random as jr
import numpy as np
import scipy.linalg
from _scheme_spectrum import covariance, scheme_spectrum
from _seam_errors import spectrum_errors, spectrum_nats
from seams import EXACT, corners, draw, plan_field

import geomndp as gn
from geomndp.model.patch_scheme import chosen_patches

ONE_PASS = "one-pass"
MODES = ((0, 0), (1, 0), (0, 1), (1, 1), (2, 0), (0, 2), (3, 0), (0, 3), (4, 0), (0, 4))


def lattice(side: int) -> np.ndarray:
    """Points (n, 2) of a square."""
    axes = [EXACT.spacing * np.arange(side)] * 2
    return np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 2)


def in_one_pass(model: Any, side: int, options: argparse.Namespace) -> np.ndarray:
    """Samples (s, n, n, p) without patches."""
    x, start, drawn = lattice(side).astype(np.float32), time.monotonic(), []
    while sum(map(len, drawn)) < options.samples and time.monotonic() - start < options.seconds:
        key = jr.fold_in(jr.key(options.seed), len(drawn))
        size = min(options.batch, options.samples)
        y = model.condition().sample(x, key=key, num_samples=size, progress=False)
        drawn.append(np.asarray(y).reshape(size, side, side, -1))
    return np.concatenate(drawn)


def spectra(model: Any, side: int, scheme: str, options: argparse.Namespace) -> dict[str, Any]:
    """Ratios by wavelength of one size and scheme."""
    if scheme == ONE_PASS:
        return drawn_spectrum(in_one_pass(model, side, options))
    patches = chosen_patches(model.condition(), corners((side, side)), 2, scheme)
    layout = plan_field((side, side), patches)
    found: dict[str, Any] = {"patches": len(layout.patches), "patch": layout.levels[-1].chunks}
    found["description"] = layout.scheme.description
    if options.samples:
        y = draw(model, layout, options)
        if options.arrays is not None:
            np.save(options.arrays, y.astype(np.float16))
        return found | drawn_spectrum(y)
    return found | {"exact process": scheme_spectrum(layout, EXACT, options.least)}


def drawn_spectrum(y: np.ndarray) -> dict[str, Any]:
    """Number of samples (s, n, n, p), variance over the exact one, and ratios by wavelength."""
    variance = float(np.mean(y.astype(np.float64) ** 2) / EXACT.covariance(np.zeros(2)).mean())
    ratios = spectrum_errors(y.astype(np.float64), EXACT)
    nats = spectrum_nats(ratios, y.shape[1], EXACT.spacing)
    found = {"samples": len(y), "variance": round(variance, 4), "spectrum": ratios}
    return found | {"nats per point": round(nats, 6)}


def framed_errors(model: Any, side: int, options: argparse.Namespace) -> dict[str, Any]:
    """Errors of modes on a patch given exact values in a frame around it, by mode."""
    whole = side + 2 * options.frame
    x = lattice(whole)
    index = np.indices((whole, whole)).reshape(2, -1) - options.frame
    own = np.all((index >= 0) & (index < side), axis=0)
    order = np.concatenate([np.flatnonzero(~own), np.flatnonzero(own)])
    factor = scipy.linalg.cholesky(covariance(EXACT, x[order]), lower=True)
    known = 2 * int(np.sum(~own))
    random = np.random.default_rng(options.seed).normal(size=(options.samples, known))
    frames = random @ factor[:known, :known].T
    means = random @ factor[known:, :known].T
    x = x.astype(np.float32)
    tasks = [(x[~own], y.reshape(-1, 2).astype(np.float32), x[own]) for y in frames]
    many = model.condition_many(tasks).sample(key=options.seed, num_samples=2, progress=False)
    drawn = np.stack([np.asarray(y, np.float64) for _, y in many])
    left = drawn.reshape(len(tasks), 2, -1) - means[:, None]
    return mode_errors(left, factor[known:, known:], index[:, own].T, side)


def mode_errors(
    left: np.ndarray, factor: np.ndarray, index: np.ndarray, side: int
) -> dict[str, Any]:
    """Mean squares of modes of the first output of residuals (s, 2, n p), over the expected ones.

    Args:
        left: Residuals of two samples.
        factor: Root of their covariance, were the law exact.
        index: Row and column of every point, shape (n, 2).
        side: Points of a patch along one axis.
    """
    found: dict[str, Any] = {"samples": 2 * len(left)}
    for mode in MODES:
        phase = 2 * np.pi / side * index @ np.asarray(mode)
        parts = np.stack([np.cos(phase), np.sin(phase)][: 1 + any(mode)], axis=1)
        weights = np.zeros((len(phase), 2, parts.shape[1]))
        weights[:, 0] = parts
        weights = weights.reshape(-1, parts.shape[1])
        expected = float(np.sum((factor.T @ weights) ** 2))
        sums = left @ weights
        both = np.sum(sums**2, axis=(1, 2)) / (2 * expected)
        common = np.sum(sums[:, 0] * sums[:, 1], axis=1) / expected
        errors = [(np.mean(v), np.std(v) / np.sqrt(len(v))) for v in (both, common)]
        names = zip(("both", "common"), errors, strict=True)
        found[str(mode)] = {name: [round(float(v), 3) for v in pair] for name, pair in names}
    return found


def main() -> None:
    """Draw, compare, print, write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="vector-fields/div-free")
    parser.add_argument("--size", type=int, nargs="+", default=[124], help="points along a side")
    parser.add_argument("--schemes", nargs="+", default=["auto"])
    parser.add_argument("--frame", type=int, help="points between a patch and the end of its frame")
    parser.add_argument("--samples", type=int, default=0)
    parser.add_argument("--batch", type=int, default=256, help="samples at a time")
    parser.add_argument("--seconds", type=float, default=np.inf, help="of every size and scheme")
    parser.add_argument("--least", type=float, default=8, help="wavelength of the closed form")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="JSON file of the results")
    parser.add_argument("--arrays", type=Path, help="NumPy file of the last samples by patches")
    options = parser.parse_args()
    model, results = gn.load(options.model), {"device": jax.devices()[0].device_kind}
    for side in options.size:
        for scheme in options.schemes if options.frame is None else ("frame",):
            start, name = time.monotonic(), f"{side}, {scheme}"
            measure = spectra(model, side, scheme, options) if options.frame is None else None
            results[name] = measure or framed_errors(model, side, options)
            results[name]["seconds"] = round(time.monotonic() - start, 1)
            print(name, json.dumps(results[name]), flush=True)
            if options.out is not None:
                options.out.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
