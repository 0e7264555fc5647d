"""Your own functions of one input: from a CSV to a trained model, evaluated on test days.

The data are synthetic: the temperature over a day at a station, one curve per day. They come from a
Gaussian process, so that the log-likelihood of the exact model is known.

    python examples/own_data.py --out out/own-data
"""

from __future__ import annotations

import time
from pathlib import Path

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import tyro

import geomndp as gn

HOURS = np.arange(0.0, 24.0, 1.5)
MEAN = 15.0
TRUTH = gn.gp.GP(gn.kernels.Matern52(6.0, variance=16.0), noise=0.25)
MEASURED = range(0, len(HOURS), 3)  # of a new day, to predict the rest


def make_days(days: int) -> pd.DataFrame:
    """Synthetic readings: day, hour, temperature."""
    curves = TRUTH.sample(jnp.asarray(HOURS)[:, None], key=jr.key(7), num_samples=days)
    return pd.DataFrame(
        {
            "day": np.repeat(np.arange(days), len(HOURS)),
            "hour": np.tile(HOURS, days),
            "temperature": np.round(MEAN + np.asarray(curves).reshape(-1), 2),
        }
    )


def evaluate(model: gn.Model, days: pd.DataFrame, num_samples: int) -> dict[str, float]:
    """Means over new days and their readings, and what the process behind the data would get."""
    rows = []
    for number, day in days.groupby("day"):
        day = day.reset_index(drop=True)
        context, target = day.loc[list(MEASURED)], day.drop(index=list(MEASURED))
        posterior = model.condition(context)
        draws = posterior.sample(target, key=jr.key(int(number)), num_samples=num_samples)
        crps = gn.summaries.crps(draws, target).value.temperature.mean()
        density = posterior.log_prob(target) / len(target)
        best = best_log_prob(*arrays(context), *arrays(target)) / len(target)
        rows.append({"CRPS": crps, "nats": float(density), "nats of the truth": float(best)})
    return pd.DataFrame(rows).mean().to_dict()


@jax.jit
def best_log_prob(x, y, x_new, y_new):
    """Log-density of new readings under the process that made the data."""
    return TRUTH.condition(x, y).log_prob(x_new, y_new)


def arrays(readings: pd.DataFrame) -> list[jnp.ndarray]:
    """Hours and departures from the mean, as the process has them."""
    return [
        jnp.asarray((readings[[name]] - shift).to_numpy())
        for name, shift in (("hour", 0.0), ("temperature", MEAN))
    ]


def walk(
    out: Path = Path("out/own-data"),
    steps: int = 1500,
    days: int = 200,
    new: int = 20,
    num_samples: int = 64,
) -> dict[str, float]:
    """Read the CSV, build a plan, fit, save, evaluate."""
    out.mkdir(parents=True, exist_ok=True)
    make_days(days + new).to_csv(out / "days.csv", index=False)

    readings = pd.read_csv(out / "days.csv")
    train, test = readings[readings.day < days], readings[readings.day >= days]
    plan = gn.build(train, inputs="hour", outputs="temperature", function="day")
    print(plan)

    start = time.monotonic()
    model, _ = gn.fit(plan, steps=steps, key=jr.key(0))
    seconds = time.monotonic() - start
    model.save(out / "model")
    metrics = evaluate(model, test, num_samples) | {"seconds of training": seconds}
    for name, value in metrics.items():
        print(f"{name}: {value:.3f}")
    context = test[test.day == days].iloc[list(MEASURED)]
    context.to_csv(out / "readings.csv", index=False)
    print(f"now: geomndp condition {out}/model {out}/readings.csv --targets 0:24:0.5 --summary")
    return metrics


if __name__ == "__main__":
    tyro.cli(walk)
