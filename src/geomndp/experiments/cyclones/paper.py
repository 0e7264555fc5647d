"""Published numbers of the cyclone table: log-densities in nats, distances in km."""

from __future__ import annotations

from geomndp.experiments.cyclones.rows import TASKS, Row, TrackMetrics

_PAPER = {
    "GeomNDP": (802, (535, 162), (536, 496)),
    "NDP in latitude and longitude": (None, (None, 166), (None, 769)),
    "GP in stereographic plane": (393, (266, 2619), (245, 6587)),
    "GP in latitude and longitude": (None, (None, 6852), (None, 8138)),
}


def published() -> list[Row]:
    """Rows as the paper prints them; its likelihoods of GeomNDP exceed what t_min allows."""
    rows = []
    for name, (joint, *conditional) in _PAPER.items():
        label = f"paper: {name}"
        rows.append(Row(label, "joint", (TrackMetrics(log_prob=joint),)))
        for task_name, (log_prob, distance) in zip(TASKS[1:], conditional, strict=True):
            rows.append(Row(label, task_name, (TrackMetrics(distance, log_prob=log_prob),)))
    return rows
