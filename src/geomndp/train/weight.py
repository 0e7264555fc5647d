"""Weights of the denoising loss over time."""

from __future__ import annotations

import equinox as eqx


class LikelihoodWeighting(eqx.Module):
    r"""Weight $a_t^2$: with the velocity's loss, that of u; with `PowerTimeGrid(2)` times, close to
    the likelihood's own weighting $\beta_t / \sigma_t^2$ (Song et al. 2021)."""

    def __call__(self, noising, t):
        return noising.alpha(t) ** 2
