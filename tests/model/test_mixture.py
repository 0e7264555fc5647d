"""Mixtures of models: weights, densities and samples against two exact Gaussian processes."""

import dataclasses

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from geomndp import MixtureProcess, load
from geomndp.auto import free_scales, mixture_weights
from geomndp.data import Batch, LogTransform, Normaliser
from geomndp.evaluate import log_likelihood
from geomndp.likelihood import Flow
from geomndp.marginals import MixtureMarginals
from geomndp.samplers import Amortised
from geomndp.score import GaussianScore

from .helper import change

XC, X = np.asarray([-0.5, 0.1, 0.6]), np.asarray([0.0, 0.8])
YC, Y = np.asarray([0.4, 0.2, 1.0]), np.asarray([0.3, -0.4])


def test_density_is_the_ratio_of_the_joint_densities(mixture, members):
    def joint(x, y):
        log_probs = jnp.stack([member.log_prob(x, y) for member in members])
        return jax.scipy.special.logsumexp(jnp.log(jnp.asarray([0.3, 0.7])) + log_probs)

    ratio = joint(np.append(XC, X), np.append(YC, Y)) - joint(XC, YC)
    law = mixture.condition(XC, YC)
    assert_allclose(law.log_prob(X, Y), ratio, rtol=1e-5)
    assert_allclose(mixture.log_prob(X, Y), joint(X, Y))
    evidence = np.asarray([float(member.log_prob(XC, YC)) for member in members])
    weights = np.asarray([0.3, 0.7]) * np.exp(evidence)
    assert_allclose(law.weights, weights / weights.sum())
    assert_allclose(mixture.condition().weights, [0.3, 0.7])


def test_density_integrates_to_one_and_has_the_marginals(mixture):
    law, grid = mixture.condition(XC, YC), np.linspace(-12, 14, 801)
    values = jnp.asarray(grid)[:, None, None]
    log_prob = jax.jit(jax.vmap(lambda y: law.log_prob(jnp.asarray(X[:1])[:, None], y)))
    density = np.exp(log_prob(values))
    marginals = law.marginals(X[:1])
    assert isinstance(marginals, MixtureMarginals) and law.exact_marginals
    assert_allclose(np.trapezoid(density, grid), 1.0, rtol=1e-6)
    assert_allclose(np.trapezoid(density * grid, grid), law.mean(X[:1])[0, 0], rtol=1e-5)
    below = np.trapezoid(density[:401], grid[:401])
    assert_allclose(marginals.cdf(values[400]), below, rtol=1e-3)
    assert_allclose(marginals.cdf(law.quantile(0.2, X[:1])), 0.2, rtol=1e-8)


def test_samples_pick_members_by_their_weights(mixture):
    law = mixture.condition(XC, YC)
    samples = np.asarray(law.sample(X, key=0, num_samples=4000))
    std = np.asarray(law.std(X))
    assert samples.shape == (4000, 2, 1)
    assert np.all(np.abs(samples.mean(axis=0) - law.mean(X)) < 5 * std / np.sqrt(4000))
    assert_allclose(samples.std(axis=0), std, rtol=0.1)
    traced = jax.jit(lambda x: law.sample(x, key=jr.key(1), num_samples=4000))(
        jnp.asarray(X)[:, None]
    )
    assert np.all(np.abs(traced.mean(axis=0) - law.mean(X)) < 5 * std / np.sqrt(4000))


def test_masked_observations_and_targets_do_not_count(mixture):
    mask, counts = np.asarray([1, 0, 1]), np.asarray([0, 1])

    @jax.jit
    def masked(xc, yc, x, y):
        law = mixture.condition(xc, yc, mask=jnp.asarray(mask, float))
        return law.log_prob(x, y, mask=jnp.asarray(counts, float))

    columns = [jnp.asarray(v)[:, None] for v in (XC, YC, X, Y)]
    kept = mask > 0
    expected = mixture.condition(XC[kept], YC[kept]).log_prob(X[1:], Y[1:])
    assert_allclose(masked(*columns), expected, rtol=1e-6)


def test_many_functions_in_one_call(mixture):
    keys = jr.split(jr.key(0))
    x, y = jr.uniform(keys[0], (3, 5, 1)), jr.normal(keys[1], (3, 5, 1))
    context = jnp.broadcast_to((jnp.arange(5) < 3).astype(float), (3, 5))
    tasks = Batch(x, y, jnp.ones((3, 5)), context)
    totals = log_likelihood(mixture, tasks, num_context=3)
    laws = [mixture.condition(x[i, :3], y[i, :3]) for i in range(3)]
    expected = [float(law.log_prob(x[i, 3:], y[i, 3:])) for i, law in enumerate(laws)]
    assert_allclose(totals.value, expected, rtol=1e-6)


def test_learnt_members_bring_their_errors(members, exact, function):
    """A model with the exact score of the first member's process is that member."""
    learnt = dataclasses.replace(exact, normaliser=members[0].normaliser)
    xc, x = XC[:, None], X[:, None]
    law = MixtureProcess((learnt, members[1])).condition(xc, YC[:, None])
    right = MixtureProcess(members).condition(xc, YC[:, None])
    info = law.log_prob_info(x, Y[:, None])
    assert_allclose(law.weights, right.weights, atol=0.05)
    parts = [learnt, members[1]]
    flow = {"flow": Flow(terminal="tweedie")}  # of context and targets
    asked = zip([m.condition(xc, YC[:, None]) for m in parts], (flow, {}), strict=True)
    log_probs = [float(own.log_prob_info(x, Y[:, None], **o).value) for own, o in asked]
    assert_allclose(info.value, np.log(np.sum(np.asarray(law.weights) * np.exp(log_probs))))
    assert_allclose(info.value, right.log_prob(x, Y[:, None]), atol=0.2)  # it ends at a time
    assert 0 < info.solver_error < 0.05 and info.probe_error == 0 and info.evaluations > 0
    assert_allclose(info.value, law.log_prob(x, Y[:, None], flow=Flow()))
    evidence = learnt.condition().log_prob_info(xc, YC[:, None], **flow).value
    assert_allclose(law.evidence.value[0], evidence)
    assert not law.exact_marginals
    noisy = MixtureProcess((learnt, members[0])).condition(xc, YC[:, None], noise=0.5)
    assert_allclose(noisy.weights, [0.5, 0.5], atol=0.02)
    several = MixtureProcess((learnt, members[0])).condition(
        xc, YC[:, None], noise=np.asarray([0.02, 0.5, 2.0])
    )
    assert_allclose(several.weights, [0.5, 0.5], atol=0.02)
    assert 0 < several.evidence.solver_error[0] < 0.05


def test_several_noise_levels_need_a_score_of_several_times(exact):
    class Joint(GaussianScore):
        conditional = False

    joint = dataclasses.replace(exact, score=Joint(exact.score.gp))
    law = joint.condition(XC[:, None], YC[:, None], noise=np.asarray([0.02, 0.5, 2.0]))
    with pytest.raises(ValueError, match="for observations of several noise variances, got one"):
        law.log_evidence()


@pytest.mark.parametrize("noise", [1e9, (0.1, 0.1, 1e9)], ids=["one", "several"])
def test_evidence_of_more_noise_than_the_noising_has_is_refused(noise, exact):
    law = exact.condition(XC[:, None], YC[:, None], noise=np.asarray(noise))
    with pytest.raises(ValueError, match="noise at most"):
        law.log_evidence()


@pytest.mark.parametrize("noise", [(0.1, 0.1, 0.1), (0.05, 0.1, 2.0)], ids=["one", "several"])
def test_evidence_is_compiled_once_for_all_noise_levels(noise, exact):
    traces = []

    class Counting(GaussianScore):
        def __call__(self, *args):
            traces.append(args)
            return super().__call__(*args)

    model = dataclasses.replace(exact, score=Counting(exact.score.gp))
    flow = Flow(steps=2)

    def evidence(factor):
        law = model.condition(XC[:, None], YC[:, None], noise=factor * np.asarray(noise))
        return float(law.log_evidence(flow=flow).value)

    first, count = evidence(1.0), len(traces)
    assert evidence(1.7) != first
    assert len(traces) == count > 0


def test_many_observed_values_take_probes(exact, members):
    x = np.linspace(-1, 1, 20)
    mixture = MixtureProcess((exact, members[0]))
    errors = mixture.condition(x, np.sin(x)).evidence.probe_error
    assert errors[0] > 0 and errors[1] == 0
    assert mixture.condition().evidence.evaluations.sum() == 0


def test_tables_and_files(learnt, members, tmp_path):
    logarithmic = dataclasses.replace(
        members[1], normaliser=Normaliser(transform=LogTransform(9.0))
    )
    parts = learnt, members[0], logarithmic
    mixture = MixtureProcess(parts, [0.1, -0.5, 0.0], "chosen: mixture")
    mixture = mixture.with_variables("t", "level")
    mixture.save(tmp_path / "m", {"note": 1})
    again = load(tmp_path / "m")
    assert isinstance(again, MixtureProcess) and again.variables == mixture.variables
    assert_allclose(again.log_weights, mixture.log_weights, rtol=1e-15)
    assert repr(again) == repr(mixture) and "chosen: mixture" in repr(again)
    table = pd.DataFrame({"t": XC, "level": YC})
    samples = again.condition(table).sample(pd.DataFrame({"t": X}), key=0, num_samples=6)
    assert list(samples) == ["sample", "t", "level"] and len(samples) == 12
    expected = mixture.condition(XC, YC).sample(X, key=0, num_samples=6)
    assert_allclose(samples["level"], expected.reshape(-1), rtol=1e-6)
    mixture.save(tmp_path / "half", dtype="float16")
    assert load(tmp_path / "half").variables == mixture.variables


def test_the_largest_mixture_that_a_fit_makes_is_saved(members, tmp_path):
    most = mixture_weights.MAX_MEMBERS * free_scales.MAX_PARTS
    MixtureProcess((members[0],) * most).save(tmp_path / "m")
    assert len(load(tmp_path / "m").members) == most
    with pytest.raises(ValueError, match="expected at most 32 members to save, got 33"):
        MixtureProcess((members[0],) * 33).save(tmp_path / "m")


BAD = {
    "members": (lambda d: d.update(members=[]), "expected 1 to 32 members"),
    "many": (lambda d: d.update(members=d["members"] * 17), "expected 1 to 32 members"),
    "nested": (lambda d: d["members"][0].update(type="mixture"), "networks and processes"),
    "weights": (lambda d: d.update(log_weights=[0.0]), "as many weights as members"),
    "text": (lambda d: d.update(log_weights="x"), "for log_weights"),
    "one": (lambda d: d["members"].pop(), "expected tensors of the members"),
    "variables": (lambda d: d.update(variables=None), "variables of the first member"),
    "frame": (lambda d: d["members"][0].update(version=3), "got the key 'version'"),
    "layers": (lambda d: d["members"][1]["net"].update(num_layers=10**5), "num_layers"),
}


@pytest.mark.parametrize("case", BAD)
def test_hostile_mixtures_are_refused_in_a_sentence(case, learnt, members, tmp_path):
    edit, message = BAD[case]
    path = tmp_path / "m.safetensors"
    MixtureProcess((members[0], learnt)).with_variables("t", "v").save(path)
    change(path, edit)
    with pytest.raises(ValueError, match=message) as raised:
        load(path)
    assert str(raised.value).startswith("expected ") and "\n" not in str(raised.value)


def test_members_that_do_not_belong_together_are_refused(members, gp, mixture):
    with pytest.raises(ValueError, match="expected a Model or ProcessModel as member, got GP"):
        MixtureProcess((gp,))
    with pytest.raises(ValueError, match="as many weights as members, got 1 and 2"):
        MixtureProcess(members, [0.0])
    with pytest.raises(ValueError, match="finite log_weights"):
        MixtureProcess(members, [0.0, -np.inf])
    with pytest.raises(ValueError, match="same outputs and names"):
        MixtureProcess((members[0].with_variables("t", "v"), members[1]))
    with pytest.raises(ValueError, match="Model or ProcessModel as member, got MixtureProcess"):
        MixtureProcess((mixture,))


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"sampler": Amortised(2)}, "expected no sampler for a mixture of processes"),
        ({"number": 3}, "expected an option of samples to be one of .* got 'number'"),
        ({"scheduler": "threads"}, 'expected patches, such as "auto", beside scheduler'),
    ],
    ids=["sampler", "unknown", "scheduler"],
)
def test_options_that_no_member_takes_are_refused(options, match, mixture):
    with pytest.raises(ValueError, match=match):
        mixture.condition(XC, YC).sample(X, **{"key": 0, **options})


def test_samples_of_many_targets_under_vmap(mixture):
    law, x = mixture.condition(XC, YC), jnp.asarray(X)[:, None]
    draw = jax.jit(jax.vmap(lambda x: law.sample(x, key=jr.key(0), num_samples=3)))
    samples = draw(x[None])
    assert samples.shape == (1, 3, 2, 1)
    assert np.all(np.isfinite(samples))


def test_levels_of_quantiles_at_a_table(members):
    law = members[0].with_variables("t", "level").condition(XC, YC)
    targets = pd.DataFrame({"t": X})
    with pytest.raises(ValueError, match=r"expected one level or a list of them, got shape"):
        law.quantile(np.full((2, 2), 0.5), targets)
    assert law.quantile(np.full((2, 2), 0.5), X).shape == (2, 2, 2, 1)
