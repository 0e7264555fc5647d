"""The default sampler with learnt scores: KL, coverage and CRPS beside other samplers.

python benchmarks/default_sampler.py [--tasks 16] [--samples 16384] [--functions 256] [--models se]

"KL" is that of 20 targets given 5 observations, from the exact posterior to a Gaussian with the
moments of the samples (mean and standard error over tasks; Gaussian sets only); CRPS and coverage
are those of the test functions of the set, 128 samples each.
"""

import argparse

import _threads  # noqa: F401
from _table import markdown

import geomndp as gn
from geomndp.experiments.regression1d.calibration import calibration
from geomndp.experiments.regression1d.samplers import sampler_rows
from geomndp.experiments.regression1d.training import problem_for
from geomndp.samplers import AbstractProgramSampler, Amortised, adams, flow

SAMPLERS: dict[str, AbstractProgramSampler] = {
    "Amortised(50)": Amortised(50),
    "Amortised(100)": Amortised(100),
    "adams(12)": adams(12),
    "adams(16)": adams(16),
    "adams(24)": adams(24),
    "adams(48)": adams(48),
    "adams(24), deterministic": adams(24, stochastic_above=1.0),
    "adams(12, floor=1e-3)": adams(12, 1e-3),
    "flow(12)": flow(12),
}
CALIBRATED = ("Amortised(50)", "adams(12)", "adams(24)")
NAMES = ("se", "matern", "weakly-periodic", "sawtooth", "mixture")


def kl_table(name: str, num: int, num_samples: int) -> str:
    """KL of every sampler on one set, as text."""
    model, problem = gn.load(f"regression1d/{name}"), problem_for(f"regression1d/{name}")
    rows = sampler_rows(model, problem, num=num, num_samples=num_samples, samplers=SAMPLERS)
    cells = [
        [row["sampler"], str(row["evaluations"]), *(f"{value:.4f}" for value in row["kl"])]
        for row in rows
    ]
    return markdown(["sampler", "evaluations", "KL", "+-"], cells)


def calibration_table(name: str, num: int) -> str:
    """Coverage and CRPS on the test functions of one set, as text."""
    model, problem, cells = gn.load(f"regression1d/{name}"), problem_for(f"regression1d/{name}"), []
    for label in CALIBRATED:
        found = calibration(model, problem, num=num, sampler=SAMPLERS[label])["model"]
        pairs = (found[key] for key in ("crps", "coverage50", "coverage90"))
        cells.append([label, *(f"{mean:.4f} +- {error:.4f}" for mean, error in pairs)])
    return markdown(["sampler", "CRPS", "50% coverage", "90% coverage"], cells)


def main() -> None:
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tasks", type=int, default=16)
    parser.add_argument("--samples", type=int, default=2**14)
    parser.add_argument("--functions", type=int, default=256)
    parser.add_argument("--models", nargs="*", default=NAMES, choices=NAMES)
    options = parser.parse_args()
    for name in options.models:
        print(f"\n## {name}\n", flush=True)
        if problem_for(f"regression1d/{name}").process.gp is not None:
            print(kl_table(name, options.tasks, options.samples), "\n", flush=True)
        print(calibration_table(name, options.functions), flush=True)


if __name__ == "__main__":
    main()
