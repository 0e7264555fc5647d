"""The experiment on a stranger's own data: fourteen real sets, one call each. No JAX.

Nothing is trained by name and no model ships: `geomndp reproduce own-data --data FOLDER --num 200`
fits and evaluates every set that the folder holds, and resumes where it was stopped.
"""

from __future__ import annotations

from pathlib import Path

from geomndp.experiments.base import Deferred, Experiment

PACKAGE = __name__.rpartition(".")[0]

EXPERIMENT = Experiment(
    name="own-data",
    title="Own data\n\nNats per target value, in the units of the files; CRPS and RMSE over the "
    "training standard deviation. Tracks: per target point and km2. Pairs are means and standard "
    "errors over test functions. Gaussian laws in closed form; networks by 6 steps of the "
    "probability flow, joint densities with 8 probes, CRPS, coverage and RMSE from 64 samples by "
    "the same flow. Baselines are those that the folder publishes, rebuilt from their parameters "
    "and evaluated on the same tasks, so that differences are paired.",
    report=Deferred(f"{PACKAGE}.report", "report"),
    figures=Deferred(f"{PACKAGE}.figures", "figures"),
    measure=Deferred(f"{PACKAGE}.measure", "measure"),
    results=Path(__file__).with_name("results.json"),
    data_options={"data": None},
)
