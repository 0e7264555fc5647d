"""Known laws flow through the whole table: rows are paired, bounds hold, empty cells stay empty."""

import functools

import jax.numpy as jnp
import numpy as np
import pytest
from numpy.testing import assert_allclose

from geomndp.baselines.neural_processes.autoregressive import Autoregressive
from geomndp.data import Regression1D, field_problem, regression1d
from geomndp.experiments.neural_processes import measure as module
from geomndp.experiments.neural_processes.cost import step_milliseconds
from geomndp.experiments.neural_processes.evaluate import (
    function_metrics,
    order_spread,
    padded_tasks,
)
from geomndp.experiments.neural_processes.experiment import EXACT
from geomndp.experiments.neural_processes.measure import chosen_labels, measure
from geomndp.experiments.neural_processes.report import report
from geomndp.gp import GP
from geomndp.kernels import Matern52, SquaredExponential

from ...baselines.neural_processes.toys import JointGP, MarginalGP

PROCESS = regression1d("np2023", "se").process
SMALL = Regression1D("gnp2020", "se", PROCESS, 9, (0, 3), 6)
TASKS = padded_tasks(SMALL, 48, "in-range")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Results of one set in which two methods were trained: one perfect, one not."""
    trained = {
        "neural-processes-gnp2020/se-convcnp": MarginalGP(PROCESS.gp),
        "neural-processes-gnp2020/se-fullconvgnp": JointGP(PROCESS.gp),
    }

    def find_model(name, data):
        notes = {"steps": 1000, "training_seconds": 3.0}
        return (trained[name], notes) if name in trained else None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "problem_for", lambda suite, dataset: SMALL)
        patch.setattr(module, "find_model", find_model)
        patch.setattr(module, "TEST_REGIONS", {"gnp2020": ("in-range",)})
        folder = tmp_path_factory.mktemp("blocks")
        return measure(32, only=("gnp2020/se",), directory=folder, log=lambda text: None)


def test_rows_are_measured_on_the_same_functions(results):
    rows = results["rows"]["gnp2020"]["se"]["in-range"]
    assert list(rows) == [EXACT, "ConvCNP", "AR-ConvCNP", "GNP (FullConvGNP)"]
    exact, factorised, rolled_out, joint = rows.values()
    for row in (rolled_out, joint):  # paired: errors of functions cancel
        assert_allclose(row["regret"], 0, atol=1e-5)
        assert_allclose(row["joint"], exact["joint"], atol=1e-5)
    for row in (factorised, rolled_out, joint):
        assert_allclose(row["marginal_regret"], 0, atol=1e-5)
        assert_allclose(row["crps"], exact["crps"], rtol=1e-4)
        assert_allclose(row["coverage"], exact["coverage"], rtol=1e-6)
    assert_allclose(factorised["joint"], exact["marginal"], atol=1e-5)
    mean, error = factorised["regret"]
    assert mean > 3 * error  # the targets depend on each other
    mean, error = exact["coverage"]
    assert abs(mean - 0.9) < 4 * error
    assert_allclose(rolled_out["order_spread"], 0, atol=1e-5)


def test_costs_are_counted(results):
    costs = results["cost"]["gnp2020"]["se"]
    assert costs["ConvCNP"]["step_ms"] == 3.0 and costs[EXACT]["step_ms"] is None
    assert costs["ConvCNP"]["evaluations"] == 1 and costs["AR-ConvCNP"]["evaluations"] == 6
    assert costs[EXACT]["evaluations"] is None
    assert all(entry["posterior_ms"] > 0 for entry in costs.values())
    assert step_milliseconds({"step_seconds": 0.002, "training_seconds": 9.0, "steps": 3}) == 2.0
    assert step_milliseconds({"steps": 3}) is None


def test_tables_show_what_was_measured_and_leave_the_rest_empty(results):
    tables = {table.title: table for table in report(results)}
    joint = tables["gnp2020, in-range: joint log-likelihood, nats per target"]
    assert joint.header == ("", "se", "matern", "weakly-periodic", "sawtooth", "mixture")
    rows = {row[0]: row[1:] for row in joint.rows}
    assert rows["AR-ConvCNP"][0] and not any(rows["AR-ConvCNP"][1:])
    assert rows["TE-TNP"] == ("",) * 5  # not trained
    assert rows["test functions of neural processes"] == ("32", "", "", "", "")
    assert rows["ConvCNP, published"] == ("-0.80", "-0.95", "-1.20", "0.55", "-0.93")
    assert rows["T(1)-GeomNDP"][0].startswith("0.7")  # from the card of the shipped model
    diagonal = rows["product of the exact marginals (diagonal GP)"]
    assert diagonal[0] == rows["ConvCNP"][0]
    regret = tables[
        "gnp2020, in-range: regret of the joint log-likelihood to the exact law, paired"
    ]
    labels = [row[0] for row in regret.rows]
    assert "TE-TNP" not in labels and "GNP (FullConvGNP)" in labels
    cost = tables["Cost: a posterior is 64 samples at 50 targets"]
    assert [row[1] for row in cost.rows] == [EXACT, "ConvCNP", "AR-ConvCNP", "GNP (FullConvGNP)"]


def test_without_results_the_joint_tables_stand_alone():
    tables = report({})
    titles = [table.title for table in tables]
    assert sum("joint log-likelihood, nats" in title for title in titles) == 2 + 2 + 3 + 1
    assert not any(
        "marginal log-likelihood, nats" in title for title in titles if "fields" not in title
    )
    assert "np2023, extrapolation: joint log-likelihood, nats per target" in titles
    fields = next(table for table in tables if table.title.startswith("fields"))
    rows = {row[0]: row[1:] for row in fields.rows}
    assert rows["SteerCNP"] == ("", "", "") and rows["SteerCNP, published"][0] == "-1.61"


@functools.cache
def exact_metrics():
    return function_metrics(PROCESS.gp, TASKS)


@pytest.mark.parametrize(
    ("gp", "wrong"),
    [
        (GP(Matern52(0.25), noise=0.05), False),
        pytest.param(
            GP(SquaredExponential(0.25, variance=0.2), noise=0.01), True, marks=pytest.mark.slow
        ),
        (GP(SquaredExponential(1.0), noise=0.05), True),
    ],
)
def test_no_factorised_law_exceeds_the_product_of_the_exact_marginals(gp, wrong):
    exact = exact_metrics()
    law = function_metrics(MarginalGP(gp), TASKS)
    gap = exact.marginal - law.marginal
    error = np.std(gap, ddof=1) / np.sqrt(len(gap))
    assert np.mean(gap) > -3 * error - 1e-6
    assert (np.mean(gap) > 3 * error) or not wrong
    assert_allclose(law.joint, law.marginal, atol=1e-5)


def test_orders_matter_to_a_law_that_is_not_consistent():
    class Doubtful(MarginalGP):
        """Believes values of other targets less than those of the context."""

        def predict(self, xc, yc, context_mask, x, mask, *, key=None):
            return super().predict(xc, 0.9 * yc, context_mask, x, mask)

    few = type(TASKS)(*(None if values is None else values[:4] for values in TASKS))
    mean, _ = order_spread(Autoregressive(Doubtful(PROCESS.gp)), few)
    assert mean > 1e-3


def test_fields_have_their_context_first():
    problem = field_problem("curl-free")._replace(contexts=5)
    tasks = padded_tasks(problem, 3, "interpolation")
    assert tasks.context_x.shape == (3, 5, 2) and tasks.y.shape == (3, 643, 2)
    both = jnp.concatenate([tasks.context_x, tasks.x], axis=1)
    for x in both:
        rows = np.lexsort(np.asarray(x).T)
        expected = np.asarray(problem.grid, np.float32)
        assert_allclose(np.asarray(x)[rows], expected[np.lexsort(expected.T)], rtol=1e-6)


def test_rows_can_be_chosen_by_name_or_kind():
    diffusion = ("T(1)-GeomNDP", "NDP*")
    neural = ("ConvCNP", "AR-ConvCNP", "TE-TNP", "AR-TE-TNP", "GNP (FullConvGNP)", "ConvGNP")
    neural += ("ConvNP", "ANP", "FlowNP")
    assert chosen_labels("gnp2020", ("gnp2020/se",)) == diffusion + neural
    assert chosen_labels("gnp2020", ("gnp2020", "diffusion")) == diffusion
    assert chosen_labels("gnp2020", ("neural",)) == neural
    assert chosen_labels("gnp2020", ("AR-ConvCNP", "NDP*")) == ("NDP*", "AR-ConvCNP")
    assert chosen_labels("gnp2020", ("SteerCNP", EXACT)) == ()  # the exact law comes in any case
    assert chosen_labels("fields", ()) == ("ConvCNP", "AR-ConvCNP", "SteerCNP")


def test_chosen_rows_alone_are_looked_for(monkeypatch, tmp_path):
    names = []
    monkeypatch.setattr(module, "find_model", lambda name, data: names.append(name))
    monkeypatch.setattr(module, "exact_process", lambda problem: None)
    found = measure(2, only=("np2023", "AR-ConvCNP"), directory=tmp_path, log=names.append)
    assert [name for name in names if "convcnp" in name] == [
        "neural-processes-np2023/sawtooth-convcnp",
        "neural-processes-np2023/mixture-convcnp",
    ]
    assert list(found["rows"]) == ["np2023"] and not any("te-tnp" in name for name in names)


def test_unknown_sets_are_refused(tmp_path):
    with pytest.raises(ValueError, match="expected set or row to be one of 'paper', 'gnp2020'"):
        measure(1, only=("se",), directory=tmp_path)
    with pytest.raises(ValueError, match="expected no time, since nothing is fitted"):
        measure(1, minutes=1.0, directory=tmp_path)
