"""Models and posteriors in ten lines that a person can read."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import equinox as eqx
import jax

from geomndp._training_log import Range, TrainingSupport
from geomndp.nets import AbstractNet
from geomndp.tables import Variable

SIZES = ("width", "channels", "num_layers", "num_heads", "radius", "max_neighbours", "dtype")
"""Options of a network that are shown."""
MAX_PROCESS = 400
"""Letters of a process that are shown."""


def describe_model(model: Any) -> str:
    """What a model is, and what it was trained on."""
    net = getattr(model.score, "net", None)
    lines = {"noising": _one_line(model.noising), "values": _values(model)}
    if isinstance(net, AbstractNet):
        lines |= {"network": _network(net), "parametrisation": _name(model.score.parametrisation)}
        lines["inputs"] = _inputs(net, model.variables, model.network_base is not None)
    else:
        lines["score"] = _name(model.score)
    conditional = "yes, in one reverse pass" if model.score.conditional else "by guidance only"
    lines |= {"contexts": conditional, "smallest time": f"{model.t_min:g}"}
    lines["scaling"] = "none" if model.normaliser is None else _scaling(model.normaliser)
    lines |= {"trained on": "no record"} if model.support is None else _support(model.support)
    return _joined("Model", lines) + _report(model)


def describe_process_model(model: Any) -> str:
    """What a process in the data's units is, and what it was fitted to."""
    lines = {"process": _one_line(model.process)[:MAX_PROCESS], "values": _values(model)}
    lines["scaling"] = "none" if model.normaliser is None else _scaling(model.normaliser)
    lines |= {"fitted to": "no record"} if model.support is None else _support(model.support)
    return _joined("ProcessModel", lines) + _report(model)


def describe_mixture(mixture: Any) -> str:
    """The members of a mixture with their weights."""
    lines = {"values": _values(mixture)}
    for i, (member, weight) in enumerate(zip(mixture.members, mixture.log_weights, strict=True)):
        part = getattr(member, "process", None) or member.network or member.score
        lines[f"member {i}"] = f"weight {math.exp(weight):.3f}, {_name(member)} of {_name(part)}"
    return _joined("MixtureProcess", lines) + _report(mixture)


def describe_chart_model(model: Any) -> str:
    """The frame of a law of tracks, and the flat law in its maps."""
    lines = {"values": _values(model), "map": _one_line(model.frame)}
    lines["first point"] = (
        "no law" if model.start is None else f"{len(model.start.centres)} kernels"
    )
    flat = repr(model.flat).replace("\n", "\n  ")
    return _joined("ChartModel", lines) + f"\n  of {flat}" + _report(model)


def describe_posterior(posterior: Any) -> str:
    """What is observed, and of which model."""
    observed = posterior.observations
    noise = "with noise" if observed.noisy else "without noise"
    about = f"{len(observed.x)} context points, {noise}"
    if posterior.time_origin is not None:
        about += f", times since {posterior.time_origin}"
    text = _joined("Posterior", {"given": about})
    return text + "\nof " + repr(posterior.model)


def _report(model: Any) -> str:
    return "" if model.report is None else f"\n{model.report}"


def _joined(title: str, lines: dict[str, str]) -> str:
    margin = max(map(len, lines)) + 2
    return "\n".join([title, *(f"  {what:<{margin}}{text}" for what, text in lines.items())])


def _one_line(part: Any) -> str:
    text = " ".join(repr(part).split())
    return text.replace("( ", "(").replace(" )", ")")


def _values(model: Any) -> str:
    manifold = model.manifold
    if model.variables is not None:
        return ", ".join(_variable(variable) for variable in model.variables.outputs)
    flat = manifold.flat
    return f"{manifold.ambient_dim} outputs" if flat else f"on {' '.join(repr(manifold).split())}"


def _inputs(net: AbstractNet, variables: Any, based: bool) -> str:
    names = f"{net.input_dim} inputs"
    if variables is not None:
        names = ", ".join(_variable(variable) for variable in variables.inputs)
    covariates = getattr(net.config, "num_invariant_inputs", 0)
    relative = 0 < net.num_relative_inputs == net.input_dim - covariates and not based
    return f"{names}; {'only differences' if relative else 'absolute positions'} matter"


def _variable(variable: Variable) -> str:
    return f"{variable.name} ({variable.units})" if variable.units else variable.name


def _network(net: AbstractNet) -> str:
    leaves = jax.tree.leaves(eqx.filter(net, eqx.is_array))
    config = net.config.to_dict()
    sizes = [f"{name} {config[name]}" for name in SIZES if name in config]
    count = sum(leaf.size for leaf in leaves)
    return ", ".join([_name(net), *sizes, f"{count:,} parameters"])


def _name(part: Any) -> str:
    return type(part).__name__


def _scaling(normaliser: Any) -> str:
    numbers = (f.name for f in dataclasses.fields(normaliser) if f.name != "transform")
    parts = [f"{name} {_numbers(v)}" for name in numbers if (v := getattr(normaliser, name))]
    return ", ".join([*map(_one_line, normaliser.transform), *parts])


def _numbers(values: tuple[float, ...]) -> str:
    text = ", ".join(f"{value:.4g}" for value in values)
    return text if len(values) == 1 else f"({text})"


def _support(support: TrainingSupport) -> dict[str, str]:
    points = f"up to {support.points} points, {support.contexts} of them context"
    if support.noise is not None:
        low, high = support.noise
        points += f"; noise variance {'' if low == 0 else '0 and '}{low:.3g} to {high:.3g}"
    return {
        "trained on": f"x {_ranges(support.inputs)}; y {_ranges(support.outputs)}",
        "with": points,
    }


def _ranges(ranges: tuple[Range, ...]) -> str:
    return ", ".join(f"{low:.3g} to {high:.3g}" for low, high in ranges)
