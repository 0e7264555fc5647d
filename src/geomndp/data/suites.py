"""The 1D regression problems of three papers, which have their names in common and little else.

`paper` follows the code of Mathieu et al. 2023 (Geometric Neural Diffusion Processes), `gnp2020`
that of Bruinsma et al. 2020 (The Gaussian Neural Process): noise on every set, contexts from 0,
another period and a fifth component in the mixture. `np2023` follows that of Bruinsma et al. 2023
(Autoregressive Conditional Neural Processes), `neuralprocesses/data/predefined.py` of the
repository wesselb/neuralprocesses: noise variance 0.05 on the Gaussian sets, a sharp sawtooth
without noise and with frequencies of 2 to 4, contexts of 0 to 30, 100 targets of the sawtooth and
of the mixture. A published number holds in its own suite only.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

from geomndp import _validation
from geomndp._types import Batch
from geomndp.data.generators import ProcessGenerator
from geomndp.data.sharp_sawtooth import SharpSawtooth
from geomndp.data.synthetic import Gaussian, Mixture, Sawtooth, SyntheticProcess
from geomndp.data.tasks import tasks
from geomndp.gp import GP
from geomndp.kernels import Matern52, Periodic, SquaredExponential, White

NOISE_VARIANCE = 0.05**2
REGIONS = {"in-range": (-2.0, 2.0), "out-of-range": (2.0, 6.0)}
"""Ranges of the test inputs; training inputs lie on [-2, 2]."""
EXTRAPOLATION = "extrapolation"
"""One more set of test inputs: the context in range, the targets out of range."""
_OLD_REGIONS = {"interpolation": "in-range", "generalisation": "out-of-range"}


def _gaussian_sets(
    lengthscale: float, period: float, noise: float = NOISE_VARIANCE
) -> dict[str, Gaussian]:
    """The three Gaussian sets, with lengthscale and period of the weakly periodic one."""
    weakly_periodic = SquaredExponential(0.5) * Periodic(lengthscale, period)
    kernels = {
        "se": SquaredExponential(0.25),
        "matern": Matern52(0.25),
        "weakly-periodic": weakly_periodic,
    }
    return {name: Gaussian(GP(kernel, noise=noise)) for name, kernel in kernels.items()}


def _paper() -> dict[str, SyntheticProcess]:
    smooth = _gaussian_sets(0.25, 1.0)
    # The reference code sums over k < K with K uniform in 10..20; the variance 0.0797 says so too.
    wave = Sawtooth(terms=(9, 19))
    unit = Sawtooth(terms=(9, 19), amplitude=wave.variance**-0.5)
    return {**smooth, "sawtooth": wave, "mixture": Mixture(*smooth.values(), unit)}


def _gnp2020() -> dict[str, SyntheticProcess]:
    # exp(-2 sin^2(pi d / p)) is the periodic kernel with lengthscale 1/2.
    smooth = _gaussian_sets(0.5, 0.25)
    wave = Sawtooth(terms=(11, 21), centred=False, noise=NOISE_VARIANCE)
    two_scales = SquaredExponential(0.25) + SquaredExponential(1.0) + White(1e-3)
    noisy = Gaussian(GP(two_scales, noise=NOISE_VARIANCE), power=2.001)
    return {**smooth, "sawtooth": wave, "mixture": Mixture(*smooth.values(), noisy, wave)}


def _np2023() -> dict[str, SyntheticProcess]:
    smooth = _gaussian_sets(0.5, 0.25, noise=0.05)
    wave = SharpSawtooth((2.0, 4.0))
    return {**smooth, "sawtooth": wave, "mixture": Mixture(*smooth.values(), wave)}


_SUITES = {"paper": _paper, "gnp2020": _gnp2020, "np2023": _np2023}
CONTEXTS = {"paper": (1, 10), "gnp2020": (0, 10), "np2023": (0, 30)}
"""Fewest and most context points of the test functions of a suite."""
SUITES = tuple(_SUITES)
NAMES = ("se", "matern", "weakly-periodic", "sawtooth", "mixture")


class Regression1D(NamedTuple):
    """A process with the protocol under which models of it are trained and tested.

    Attributes:
        suite: One of `SUITES`.
        name: One of `NAMES`.
        process: Law of the functions.
        max_points: Most points of a training function.
        contexts: Fewest and most context points of a test function.
        targets: Targets of a test function.
    """

    suite: str
    name: str
    process: SyntheticProcess
    max_points: int
    contexts: tuple[int, int]
    targets: int

    def generator(self, batch_size: int = 256, **options) -> ProcessGenerator:
        """Generator of fresh training functions on [-2, 2].

        Args:
            batch_size: Functions per batch.
            **options: Those of `ProcessGenerator`: `contexts`, `dtype`, `packed`, ...

        Returns:
            The generator.
        """
        sizes = {"batch_size": batch_size, "max_points": self.max_points}
        return ProcessGenerator(process=self.process, **sizes, **options)

    def exact(self) -> GP:
        """The Gaussian process that the data follow.

        Returns:
            The process, noise included.

        Raises:
            ValueError: If the data are not Gaussian.
        """
        gp = self.process.gp
        if gp is None:
            raise ValueError(f"expected Gaussian data, whose law is known, got {self.name!r}")
        return gp

    def tasks(self, num: int, *, region="in-range", seed: int = 0, dtype=None) -> Batch:
        """Fixed test functions.

        Args:
            num: Number of functions.
            region: "in-range", inputs on [-2, 2] as in training, "out-of-range", on [2, 6], or
                "extrapolation", the context on [-2, 2] and the targets on [2, 6].
            seed: Seed of functions and contexts.
            dtype: Floating-point type, by default JAX's own.

        Returns:
            Functions as `data.tasks` makes them: rows of the context first, then the targets.

        Raises:
            ValueError: If there is no such region.
        """
        if region in _OLD_REGIONS:
            old, region = region, _OLD_REGIONS[region]
            message = f"region {old!r} is deprecated and will be removed in the next release: use"
            warnings.warn(f"{message} {region!r}", DeprecationWarning, stacklevel=2)
        _validation.one_of("region", region, (*REGIONS, EXTRAPOLATION))
        beyond = region == EXTRAPOLATION
        low, high = REGIONS["in-range" if beyond else region]
        return tasks(
            self.process,
            num=num,
            seed=seed,
            low=low,
            high=high,
            contexts=self.contexts,
            targets=self.targets,
            target_range=REGIONS["out-of-range"] if beyond else None,
            dtype=dtype,
        )


def regression1d(suite: str, name: str) -> Regression1D:
    """Look up a problem of 1D regression.

    Args:
        suite: "paper" (Mathieu et al. 2023), "gnp2020" (Bruinsma et al. 2020) or "np2023"
            (Bruinsma et al. 2023).
        name: One of `NAMES`.

    Returns:
        The problem: process, training generator and test functions.

    Raises:
        ValueError: If there is no such suite or name.

    Example:
        >>> problem = regression1d("paper", "matern")
        >>> tasks = problem.tasks(16, region="out-of-range")
    """
    _validation.one_of("suite", suite, SUITES)
    _validation.one_of("name", name, NAMES)
    contexts, targets = CONTEXTS[suite], 100 if name in ("sawtooth", "mixture") else 50
    return Regression1D(
        suite,
        name,
        _SUITES[suite]()[name],
        max_points=contexts[1] + targets,
        contexts=contexts,
        targets=targets,
    )
