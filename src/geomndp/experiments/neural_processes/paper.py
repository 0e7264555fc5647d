"""Published log-likelihoods of neural processes, nats per target; None where none is given.

Suite `gnp2020`: Bruinsma et al. 2020 (The Gaussian Neural Process), as the 1D regression table has
them. Suite `np2023`: Bruinsma et al. 2023 (Autoregressive Conditional Neural Processes), from
`tables.ipynb` of the repository wesselb/neuralprocesses. Its three sets of test inputs are ours:
"interpolation in training range", "interpolation beyond training range", and "extrapolation beyond
training range" with the context on [-2, 2] and the targets on [2, 6]. Vector fields: Mathieu et al.
2023, which quotes Holderrieth et al. 2021.
"""

from geomndp.experiments.regression1d.paper import QUOTED, PaperRows
from geomndp.experiments.vector_fields.paper import PAPER as FIELDS_PAPER

SAWTOOTH_AND_MIXTURE = ("sawtooth", "mixture")
"""Sets of the suite `np2023` for which numbers are published, in this order."""

NP2023: dict[str, PaperRows] = {
    "in-range": {
        "ConvCNP, published": (2.40, 0.07),
        "AR-ConvCNP, published": (3.62, 0.56),
        "ConvGNP, published": (2.87, 0.16),
        "FullConvGNP, published": (2.88, 0.30),
        "ConvNP by maximum likelihood, published": (3.06, 0.38),
        "ConvNP by ELBO, published": (3.51, 0.45),
    },
    "out-of-range": {
        "ConvCNP, published": (2.39, 0.06),
        "AR-ConvCNP, published": (3.62, 0.56),
        "ConvGNP, published": (2.87, 0.16),
        "FullConvGNP, published": (2.90, 0.30),
        "ConvNP by maximum likelihood, published": (3.06, 0.39),
        "ConvNP by ELBO, published": (3.52, 0.45),
    },
    "extrapolation": {
        "ConvCNP, published": (0.01, -1.21),
        "AR-ConvCNP, published": (3.36, 0.34),
        "ConvGNP, published": (-0.01, -0.91),
        "FullConvGNP, published": (0.30, -0.46),
        "ConvNP by maximum likelihood, published": (0.64, -0.85),
        "ConvNP by ELBO, published": (2.68, -0.10),
    },
}

FIELDS: dict[str, PaperRows] = {
    "interpolation": {
        label.replace("paper", "published"): values
        for label, values in FIELDS_PAPER.items()
        if label.startswith(("ConvCNP", "SteerCNP", "GP, diagonal"))
    }
}

PUBLISHED: dict[str, dict[str, PaperRows]] = {
    "paper": {},
    "gnp2020": {
        region: {label.replace("quoted", "published"): values for label, values in rows.items()}
        for region, rows in QUOTED.items()
    },
    "np2023": NP2023,
    "fields": FIELDS,
}
"""Suite -> region -> row -> one number per set of the suite."""
