"""Published figures of the 1D regression table, nats per target; None is below -10 or not given.

`PAPER`: Mathieu et al. 2023, its rows for its own models, on its own data (suite `paper`). Its
likelihoods come from 100 uniform Euler steps, which overstate by about 0.09 nats per target.
`QUOTED`: Bruinsma et al. 2020, as that paper quotes them; they belong to the suite `gnp2020`.
"""

DATASETS = ("se", "matern", "weakly-periodic", "sawtooth", "mixture")

PaperRows = dict[str, tuple[float | None, ...]]

PAPER: dict[str, PaperRows] = {
    "in-range": {
        "T(1)-GeomNDP, paper": (0.72, 0.32, -0.38, 3.39, 0.64),
        "NDP*, paper": (0.71, 0.30, -0.37, 3.39, 0.64),
    },
    "out-of-range": {
        "T(1)-GeomNDP, paper": (0.70, 0.31, -0.38, 3.39, 0.62),
        "NDP*, paper": (None, None, None, None, None),
    },
}

QUOTED: dict[str, PaperRows] = {
    "in-range": {
        "GNP, quoted": (0.70, 0.30, -0.47, 0.42, 0.10),
        "ConvCNP, quoted": (-0.80, -0.95, -1.20, 0.55, -0.93),
        "ConvNP, quoted": (-0.46, -0.67, -1.02, 1.20, -0.50),
        "ANP, quoted": (-0.61, -0.75, -1.19, 0.34, -0.69),
    },
    "out-of-range": {
        "GNP, quoted": (0.69, 0.30, -0.47, 0.42, 0.10),
        "ConvCNP, quoted": (-0.81, -0.95, -1.20, 0.53, -0.96),
        "ConvNP, quoted": (-0.46, -0.67, -1.02, 1.19, -0.53),
        "ANP, quoted": (-1.42, -1.34, -1.33, -0.17, -1.24),
    },
}
