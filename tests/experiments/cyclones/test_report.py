"""The cyclone table as printed: rows of models join those of baselines; maps of a model."""

import dataclasses

import equinox as eqx
import jax.numpy as jnp
import jax.random as jr
import pytest

from geomndp.cli import main
from geomndp.data.ibtracs import Split
from geomndp.experiments import results
from geomndp.experiments.cyclones import (
    figures as figure_cyclones,
    report,
    rows as rows_of,
    training as cyclones,
)
from geomndp.experiments.cyclones.baselines import BASELINES
from geomndp.experiments.cyclones.experiment import EXPERIMENT
from geomndp.experiments.cyclones.figures import fans_figure, tracks_figure
from geomndp.experiments.cyclones.paper import published
from geomndp.experiments.cyclones.rows import TrackMetrics

from .test_baselines import synthetic

MODEL = report.MODELS[0]
FOUND = TrackMetrics(120.0, 80.0, 60.0, 0.9, 300.0)


def text(rows):
    return "\n".join(f"{one.title}\n{one.markdown()}" for one in report.tables(rows, "storms"))


def test_rows_of_models_replace_their_like(tmp_path):
    path = tmp_path / "cyclones.json"
    old = [
        row for row in rows_of.stored_rows("storms", EXPERIMENT.results) if row.label in BASELINES
    ]
    results.write(path, {"storms": rows_of.to_json(old), "seasons": []})
    rows_of.add_rows([rows_of.Row(MODEL, "interpolation", (FOUND,))], "storms", path)
    better = FOUND._replace(energy=50.0)
    rows = rows_of.add_rows([rows_of.Row(MODEL, "interpolation", (better, better))], "storms", path)
    assert rows == rows_of.stored_rows("storms", path) and rows[: len(old)] == old
    (added,) = (row for row in rows if (row.label, row.task) == (MODEL, "interpolation"))
    assert added.summary("energy") == (50.0, 0.0)
    rows_of.add_rows([rows_of.Row(MODEL, "joint", (FOUND,))], "seasons", path)
    assert [row.task for row in rows_of.stored_rows("seasons", path)] == ["joint"]


def test_models_stand_between_baselines_and_paper_with_their_number_of_splits():
    rows = [*published(), rows_of.Row(MODEL, "interpolation", (FOUND,) * 2)]
    rows += [
        row for row in rows_of.stored_rows("storms", EXPERIMENT.results) if row.label in BASELINES
    ]
    shown = text(rows)
    assert "| paper: GeomNDP |  | 802.0 |" in shown
    assert "| linear-Gaussian, local frame | 5 | 458.8 ± 1.2 |" in shown
    line = next(line for line in shown.splitlines() if MODEL in line)
    assert line.startswith(f"| {MODEL} | 2 | 120 ± 0 | 80 ± 0 | 60.0 ± 0.0 |")
    lines = shown[shown.index("storms: interpolation") :].splitlines()
    labels = [line.split("|")[1].strip() for line in lines if line.startswith("|")]
    assert labels.index("great-circle Hermite curve") < labels.index(MODEL)
    assert labels.index(MODEL) < labels.index("paper: GeomNDP")


def test_gains_are_on_the_same_splits():
    linear = [FOUND._replace(mean_error=error) for error in (90.0, 100.0, 500.0)]
    rows = [rows_of.Row(report.REFERENCE, "interpolation", tuple(linear))]
    rows.append(rows_of.Row(MODEL, "interpolation", (FOUND, FOUND)))
    assert f"| {MODEL} | 2 | +0.0 | -15.0 | +0.0 | +0.0 |" in text(rows)


def test_reproduce_prints_tables_and_says_what_is_missing(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("GEOMNDP_IBTRACS", raising=False)
    assert main(["reproduce", "cyclones", "--out", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "paper: GeomNDP" in shown and "no figures: no tracks" in shown
    assert "| paper: GeomNDP |" in (tmp_path / "cyclones.md").read_text("utf-8")
    assert main(["reproduce", "cyclones", "--num", "2", "--out", str(tmp_path)]) == 1
    assert "expected a path to IBTrACS" in capsys.readouterr().err


def test_maps(tmp_path, monkeypatch):
    """Layout alone: the tracks of storms in the place of samples."""
    parts = Split(synthetic(1, 0), synthetic(3, 1))

    def draws(model, tasks, sampler, contexts, num_samples, batch_size, key):
        return jnp.repeat(tasks.y[:, None, contexts:], num_samples, axis=1)

    monkeypatch.setattr(figure_cyclones, "draw_tracks", draws)
    _check_maps(tmp_path, make_model(), parts)


@pytest.mark.slow
def test_maps_of_a_model(tmp_path):
    _check_maps(tmp_path, make_model(), Split(synthetic(1, 0), synthetic(3, 1)))


def make_model():
    sizes = {"width": 8, "num_layers": 1, "num_heads": 2}
    model = eqx.filter_jit(cyclones.make_model)("cyclones/ibtracs-latlon", key=jr.key(0), **sizes)
    return dataclasses.replace(model, score=dataclasses.replace(model.score, conditional=True))


def _check_maps(folder, model, parts):
    tracks = tracks_figure(folder / "tracks.png", model, parts, num=3, steps=2)
    fans = fans_figure(folder / "fans.png", model, parts, storms=2, num_samples=2, steps=2)
    assert tracks.stat().st_size > 10_000 and fans.stat().st_size > 10_000
