"""Hyperparameters of every neural process of the comparison, those of its authors where known.

1D, 2020 (Bruinsma et al., code "corconvcnp"): 8 layers of 64 channels, 64 cells per unit, the
receptive field below; the kernel's network 8 layers of 64 channels at 20 cells per unit. 1D, 2023
(wesselb/neuralprocesses, `experiment/data/gp.py` and `train.py`): U-Net of 6 layers of 64 channels
with stride 2, 64 cells per unit. Fields (Holderrieth et al. 2021): 6 layers of 40 channels and
7 x 7 kernels on the grid of the data.
"""

from __future__ import annotations

from typing import Any

from geomndp.experiments.neural_processes.experiment import FIELDS, NeuralProcessSpec

RECEPTIVE_FIELD = {"weakly-periodic": 4.0, "sawtooth": 16.0, "mixture": 16.0}
"""Of convolutional networks in 1D, in units of the inputs; 2 for all other sets."""
UNET = {"network": "unet", "num_layers": 6, "width": 64}
FINE = {"min_wavelength": 0.02, "num_frequencies": 24}
"""Relative positions of transformers on sawtooths, as of the diffusion models."""
FIELD_GRID = {"extent": 20.0, "points_per_unit": 29 / 20}
"""Cells of the grids of vector fields: those of the data."""
FIELD_CONVOLUTIONS: dict[str, Any] = {
    "network": "dense",
    "num_layers": 7,  # between the input, six layers of channels and the output: 0.41M parameters
    "width": 40,
    "kernel_size": 7,
    "lengthscale": 3**0.5,  # the authors' 3 and 5 are squares
    "decoder_lengthscale": 5**0.5,
    "margin": 8.0,
}
KERNEL_UNET: dict[str, Any] = {
    "kernel_layers": 6,
    "kernel_width": 32,
    "kernel_points_per_unit": 32.0,
    "kernel_margin": 0.1,
}
"""Of FullConvGNP in 2023: half the channels and half the cells per unit of the mean's network."""
LATENT_MARGIN = 1.0
"""Of ConvNP, as of its authors: half the receptive field of two networks is too much memory."""
FIELD_STEERABLE = {"num_fields": 16, "margin": 3.0}
"""The authors have up to 24 regular fields, which cost twice as much, and no margin."""
TRANSFORMER = {"width": 128, "num_layers": 5, "num_heads": 8}
"""As of Ashman et al. 2024."""
CONVOLUTIONAL = ("convcnp", "convgnp", "fullconvgnp", "convnp")


def options_for(spec: NeuralProcessSpec) -> dict[str, Any]:
    """Options of the process of a model.

    Args:
        spec: Data and method.

    Returns:
        Arguments of its configuration besides the numbers of inputs and outputs.
    """
    if spec.suite == FIELDS:
        convolutions = FIELD_CONVOLUTIONS if spec.method in CONVOLUTIONAL else FIELD_STEERABLE
        return {**FIELD_GRID, **convolutions}
    fine = spec.dataset in ("sawtooth", "mixture")
    if spec.method == "anp":
        return {}
    if spec.method not in CONVOLUTIONAL:
        return {**TRANSFORMER, **(FINE if fine else {})}
    options: dict[str, Any] = {"extent": 4.0, "points_per_unit": 64.0}
    options |= {"receptive_field": RECEPTIVE_FIELD.get(spec.dataset, 2.0)}
    options |= {"margin": LATENT_MARGIN} if spec.method == "convnp" else {}
    if spec.suite != "np2023":
        return options
    return options | UNET | (KERNEL_UNET if spec.method == "fullconvgnp" else {})
