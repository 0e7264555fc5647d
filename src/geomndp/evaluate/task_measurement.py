"""What one law says of padded tasks: density of the context, of the targets, of each by itself."""

from __future__ import annotations

import dataclasses
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import jax.random as jr

from geomndp._types import Array
from geomndp.baselines.neural_processes.base import AbstractNeuralProcess
from geomndp.baselines.neural_processes.neural_predictive import NeuralPredictive
from geomndp.evaluate.padded_tasks import PaddedTasks
from geomndp.evaluate.resumable import AbstractMeasurement
from geomndp.evaluate.value_metrics import draw, value_metrics
from geomndp.likelihood import Exact, Flow, Hutchinson
from geomndp.model import Model
from geomndp.model.chart_posterior import ChartPosterior
from geomndp.model.mixture_posterior import evidences
from geomndp.model.posterior import Posterior
from geomndp.model.process_posterior import ProcessPosterior
from geomndp.predictive import AbstractPredictive, AbstractProcess
from geomndp.samplers import AbstractSampler, Amortised
from geomndp.samplers.problem import amortises
from geomndp.solve import Multistep

FLOW_STEPS = 6
"""Steps (RK4) of the probability flow of a network's density; half as many tell its error."""
PROBES = 8
"""Random probes of the divergence of joint densities; those of single values are exact."""
SAMPLER_STEPS = 20
"""Steps of the default sampler of flat outputs."""
MANIFOLD_SAMPLER = Amortised(16, Multistep(stochastic=False))
"""Draws on a manifold by the probability flow: the law whose density is measured."""


class TaskMeasurement(AbstractMeasurement):
    """Answers of one law to every task, from which those of a mixture are put together.

    Attributes:
        sphere: Whether values are points of the sphere.
        num_samples: Samples per task, where they are needed.
        exact: Whether divergences of joint densities are exact.
        batch_size: Tasks side by side on a device.
        density: Further arguments of `log_prob_info`.
        sampling: Further arguments of `sample`.
        separate_values: Whether outputs of a row have marginal densities of their own.
        mixed: Whether the law is a member of a mixture, which needs the density of its context,
            and its ensemble.
    """

    sphere: bool = eqx.field(static=True)
    num_samples: int = eqx.field(static=True)
    exact: bool = eqx.field(static=True)
    batch_size: int = eqx.field(static=True)
    density: dict[str, Any]
    sampling: dict[str, Any]
    separate_values: bool = eqx.field(default=False, static=True)
    mixed: bool = eqx.field(default=False, static=True)

    def __call__(self, process, items):
        """Items are padded tasks and one key per task."""
        parts = [self.joint, self.marginal, self.values, *([self.context] if self.mixed else [])]
        learnt = isinstance(getattr(process, "flat", process), Model)
        if not learnt:  # closed forms have most of their work in common
            return self.each_task(process, items, parts, self.batch_size)
        results, few = {}, max(1, self.batch_size // 4)
        for part in parts:  # one after the other, that memory and programs stay small
            wide = part.__name__ in ("marginal", "values")
            results |= self.each_task(process, items, [part], few if wide else self.batch_size)
        return results

    def each_task(self, process, items, parts: list[Any], at_once: int) -> dict[str, Array]:
        """Some answers to all tasks, `at_once` side by side."""

        def answer(item):
            law, results = _law(process, item[0]), {}
            for part in parts:
                results |= part(law, *item)
            return results

        return jax.lax.map(answer, items, batch_size=min(at_once, len(items[1])))

    def joint(self, law: AbstractPredictive, task: PaddedTasks, key) -> dict[str, Array]:
        """Log-density of all targets together, with its error."""
        key = None if self.exact else jr.split(key)[0]
        info = law.log_prob_info(task.x, task.y, key=key, mask=task.mask, **self.options(law))
        return {"joint": info.value, "joint_error": jnp.hypot(info.solver_error, info.probe_error)}

    def marginal(self, law: Any, task: PaddedTasks, key=None) -> dict[str, Array]:
        """Log-densities of single values (n, p), or of single rows (n, 1)."""
        p = task.y.shape[1]
        single = self.separate_values or p == 1
        if law.exact_marginals and single:
            return {"marginal": law.marginals(task.x).log_prob(task.y)}
        if _is_neural(law):  # one evaluation for all rows
            return {"marginal": law.marginal_log_prob(task.x, task.y, key=key)[:, None]}
        options = self.options(law)
        if "flow" in options:  # a few values: as cheap as probes
            options["flow"] = dataclasses.replace(options["flow"], divergence=Exact())

        def one_row(x, y, mask):
            return law.log_prob_info(x[None], y[None], mask=mask, **options).value

        if not single or p == 1:
            nats = jax.vmap(lambda x, y: one_row(x, y, None))(task.x, task.y)
            return {"marginal": nats[:, None]}
        masks = jnp.eye(p, dtype=task.y.dtype)[:, None]
        nats = jax.vmap(lambda x, y: jax.vmap(lambda mask: one_row(x, y, mask))(masks))
        return {"marginal": nats(task.x, task.y)}

    def values(self, law: AbstractPredictive, task: PaddedTasks, key) -> dict[str, Array]:
        """Mean, PIT, CRPS and ensemble of every value; of points of the sphere the samples."""
        options = {"key": jr.split(key)[1], "num_samples": self.num_samples, **self.sampling}
        own = _in_map(law)
        if isinstance(own, ProcessPosterior):
            options.pop("sampler", None)
        elif isinstance(own, Posterior) and "sampler" not in options:
            amortised = amortises(own.problem(own.observations.x))
            options |= {"sampler": _sampler(own)} if amortised else {}
        mask = task.mask if task.mask is None or task.mask.ndim == 1 else jnp.max(task.mask, axis=1)
        if self.sphere:
            return {"ensemble": draw(law, task.x, mask, **options)}
        found = value_metrics(law, task.x, task.y, mask=mask, **options)._asdict()
        names = found if self.mixed else ("mean", "pit", "crps")
        return {name: found[name] for name in names}

    def context(self, law: Any, task: PaddedTasks, key=None) -> dict[str, Array]:
        """Log-density of the context, by which a mixture weighs its members, with its error."""
        found = evidences((_in_map(law),))  # all members have the same map
        error = jnp.hypot(found.solver_error[0], found.probe_error[0])
        return {"evidence": found.value[0], "evidence_error": error}

    def options(self, law: AbstractPredictive) -> dict[str, Any]:
        """Arguments of `log_prob_info`: those given, else few steps and probes for networks."""
        own = _in_map(law)
        if isinstance(own, ProcessPosterior):
            return {}
        if not isinstance(own, Posterior):
            return dict(self.density)
        return {"flow": task_flow(None if self.exact else PROBES), **self.density}


def task_flow(probes: int | None) -> Flow:
    """The flow of a network's density: few steps, about the mean that is left at time one.

    Args:
        probes: Random probes of the divergence; None for an exact one.

    Returns:
        The flow.
    """
    divergence = Exact() if probes is None else Hutchinson(probes)
    return Flow(steps=FLOW_STEPS, divergence=divergence, terminal="tweedie")


def _in_map(law: Any) -> Any:
    """The flat law of tracks in a local map, else the law itself."""
    flat = law.flat if isinstance(law, ChartPosterior) else None
    return law if flat is None else flat


def _is_neural(law: Any) -> bool:
    """Whether a law is that of a neural process, in its own units or in the data's."""
    process = law.model.process if isinstance(law, ProcessPosterior) else None
    return isinstance(law, NeuralPredictive) or isinstance(process, AbstractNeuralProcess)


def _law(process: AbstractProcess, task: PaddedTasks) -> Any:
    return process.condition(task.context_x, task.context_y, mask=task.context_mask)


def takes_value_masks(
    process: AbstractProcess, measurement: TaskMeasurement, tasks: PaddedTasks
) -> bool:
    """Whether single outputs of a row have densities; found out by tracing, nothing is computed.

    Args:
        process: What is evaluated.
        measurement: What is measured.
        tasks: Padded tasks.

    Returns:
        False for points of a manifold and for processes that refuse a mask of shape (n, p).
    """
    if measurement.sphere or tasks.y.shape[2] == 1:
        return False
    first = jax.tree.map(lambda leaf: leaf[0], tasks)
    separate = dataclasses.replace(measurement, separate_values=True)

    def attempt(process, task):
        return separate.marginal(_law(process, task), task)

    try:
        eqx.filter_eval_shape(attempt, process, first)
    except (ValueError, TypeError):
        return False
    return True


def _sampler(posterior: Posterior) -> AbstractSampler:
    flat = posterior.model.noising.flat
    return posterior.default_sampler(SAMPLER_STEPS) if flat else MANIFOLD_SAMPLER
