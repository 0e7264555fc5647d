"""Every model of the comparison can be made and trained."""

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pytest

from geomndp.baselines.neural_processes.methods import METHODS, process_class
from geomndp.baselines.neural_processes.training import fit_process
from geomndp.experiments.neural_processes.experiment import MODELS, NAMES, spec_for
from geomndp.experiments.neural_processes.training import (
    make_generator,
    make_loss,
    make_model,
    make_optimiser,
)
from geomndp.model import load

SPECIMENS = [
    *(f"neural-processes-gnp2020/sawtooth-{method}" for method in METHODS if method != "steercnp"),
    *(f"neural-processes-np2023/mixture-{method}" for method in ("convcnp", "te-tnp")),
    *(f"neural-processes-fields/curl-free-{method}" for method in ("convcnp", "steercnp")),
]


@pytest.mark.parametrize("name", SPECIMENS)
def test_models_have_the_sizes_of_their_data(name):
    model = eqx.filter_eval_shape(make_model, name, key=jr.key(0))
    dim = 2 if "fields" in name else 1
    assert model.process.input_dim == dim and model.process.dim == dim
    assert type(model.process) is process_class(MODELS[name].method)
    leaves = jax.tree.leaves(eqx.filter(model.process, lambda leaf: hasattr(leaf, "shape")))
    assert all(leaf.dtype == jnp.float32 for leaf in leaves)
    assert 1e4 < sum(leaf.size for leaf in leaves) < 3e6


def test_receptive_fields_are_those_of_2020():
    fields = {}
    for dataset in ("se", "weakly-periodic", "mixture"):
        name = f"neural-processes-gnp2020/{dataset}-convcnp"
        fields[dataset] = make_model(name, key=jr.key(0)).process.config.receptive_field
    assert fields == {"se": 2.0, "weakly-periodic": 4.0, "mixture": 16.0}


def test_one_model_serves_the_same_functions_of_two_suites():
    assert NAMES[spec_for("paper", "se", "convcnp")] == "neural-processes-gnp2020/se-convcnp"
    name = NAMES[spec_for("paper", "sawtooth", "convcnp")]
    assert name == "neural-processes-paper/sawtooth-convcnp"


def test_contexts_are_small_or_as_large_as_in_a_roll_out():
    batch = make_generator("neural-processes-np2023/sawtooth-convcnp", 256).draw(jr.key(1))
    contexts, points = (np.asarray(v).sum(1) for v in (batch.context, batch.mask))
    assert batch.x.shape == (256, 130, 1) and batch.x.dtype == jnp.float32
    assert np.all(contexts < points) and contexts.max() > 60 and np.mean(contexts <= 30) > 0.5


def test_a_step_of_training_changes_the_parameters():
    name = "neural-processes-gnp2020/se-te-tnp"
    process = make_model(name, key=jr.key(0), width=8, num_layers=1, num_heads=2).process
    options = {"optimiser": make_optimiser(name, 2), "quiet": True}
    generator = make_generator(name, 4)
    trained, history = fit_process(process, generator, steps=2, key=jr.key(1), **options)
    assert np.all(np.isfinite(history.loss))
    assert not eqx.tree_equal(trained, process)
    loss, info = make_loss()(trained, None, generator.draw(jr.key(2)), key=jr.key(3))
    assert np.isfinite(loss) and info[0].shape == (4,)


def test_unknown_names_are_refused():
    with pytest.raises(ValueError, match="expected model to be one of"):
        make_model("neural-processes/se", key=jr.key(0))
    with pytest.raises(ValueError, match="expected method to be one of 'anp', 'convcnp'"):
        process_class("cnp")


@pytest.mark.parametrize(
    ("name", "sizes"),
    [
        ("neural-processes-gnp2020/se-convcnp", {"width": 4, "num_layers": 1}),
        ("neural-processes-gnp2020/se-convgnp", {"width": 4, "num_layers": 1, "rank": 2}),
        ("neural-processes-np2023/sawtooth-convcnp", {"width": 2, "num_layers": 1}),
        ("neural-processes-fields/se-steercnp", {"num_fields": 1, "num_layers": 1}),
    ],
)
def test_models_are_saved_with_numbers_that_have_no_axis(name, sizes, tmp_path):
    model = make_model(name, key=jr.key(0), points_per_unit=1.0, **sizes)
    assert any(leaf.ndim == 0 for leaf in jax.tree.leaves(eqx.filter(model, eqx.is_array)))
    model.save(tmp_path / "model")
    assert eqx.tree_equal(load(tmp_path / "model").process, model.process)
