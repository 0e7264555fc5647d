"""A folder of one small set, written as those of the experiment are."""

import json

import numpy as np
import pandas as pd

POINTS, FUNCTIONS, TEST = 6, 12, 3
THETA = [0.0, -1.0, 0.0, -1.0, -1.0, -2.5]


def write_set(folder, name="sines", **meta):
    """Periodic functions of one output; the last functions are those of the test."""
    place = folder / name
    place.mkdir(parents=True)
    rng = np.random.default_rng(0)
    hour = np.arange(POINTS) * 4.0
    names = [f"p{number // 2}_{number}" for number in range(FUNCTIONS)]
    frame = pd.concat(
        pd.DataFrame(
            {
                "function": function,
                "hour": hour,
                "level": 5 + rng.normal() * np.sin(hour / 4) + 0.3 * rng.normal(size=POINTS),
            }
        )
        for function in names
    )
    frame.to_csv(place / "data.csv", index=False)
    known = {"name": name, "file": "data.csv", "inputs": ["hour"], "outputs": ["level"]}
    split = {"train": names[:-TEST], "test": names[-TEST:], "gap": []}
    tasks = [
        {"kind": kind, "function": function, "context": rows, "target": rest}
        for kind, rows, rest in (("ctx2", [0, 4], [1, 2, 3, 5]), ("forecast", [0, 1], [3, 5]))
        for function in names[-TEST:]
    ]
    kinds = {"ctx2": {"logp_joint": -1.0, "crps_sd": 0.5}, "forecast": {"logp_joint": -2.0}}
    gp = {"choice": "SE+M32, emp mean, raw", "theta": THETA, "seconds": 1.25, "kinds": kinds}
    shrunk = {"choice": "SE+M32, raw", "shrinkage": 0.3, "seconds": 0.5, "kinds": kinds}
    content = {"meta": known | meta, "split": split, "tasks": {"tasks": tasks}}
    content["results"] = {"models": {"gp": gp, "linear_gaussian_gp": shrunk}}
    for part, value in content.items():
        (place / f"{part}.json").write_text(json.dumps(value))
    return folder
