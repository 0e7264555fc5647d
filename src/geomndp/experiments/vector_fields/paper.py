"""Published log-likelihoods of the vector-field table.

Mathieu et al. 2023, nats per point, both components together, errors at most 0.01.
"""

DATASETS = ("se", "curl-free", "div-free")

PAPER = {
    "GP, paper": (0.56, 0.66, 0.66),
    "GP, diagonal, paper": (-1.56, -1.47, -1.47),
    "E(2)-GeomNDP, paper": (0.56, 0.65, 0.66),
    "NDP*, paper": (0.55, 0.62, 0.62),
    "ConvCNP, paper": (-1.71, -1.77, -1.76),
    "SteerCNP, paper": (-1.61, -1.57, -1.57),
}
