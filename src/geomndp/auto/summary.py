"""What was chosen, for people."""

from __future__ import annotations

from geomndp.auto.network_sizes import steps_per_minute
from geomndp.auto.plan import TIME_LIMIT
from geomndp.auto.split import FEW_FUNCTIONS, cross_validates
from geomndp.data import AbstractGenerator, Normaliser, ResampledGenerator
from geomndp.model import Model, ProcessModel
from geomndp.nets import AbstractNet, BiDimensionalAttention, RelativeAttention
from geomndp.noising import LinearSchedule
from geomndp.tables import Functions, Variable, Variables

SYMMETRY = {
    "translation": "the network's law does not change when all inputs are shifted",
    "E(2)": "the network's law does not change under shifts, turns and mirrors of the plane",
    "E(3)": "the network's law does not change under shifts, turns and mirrors of space",
    "SO(3)": "the network's law does not change under rotations and mirrors of the sphere",
    "axial": "the network's law does not change under rotations about the Earth's axis, nor in the "
    "mirror image of the hemispheres",
    "none": "the network's law may depend on the inputs in any way",
}
SHOWN = (
    "representations",
    "token_axis",
    "width",
    "num_layers",
    "radius",
    "max_neighbours",
    "num_frequencies",
)
SHOWN += ("min_wavelength", "max_wavelength", "resolution", "absolute_min_wavelength")


def choices(
    functions: Functions,
    model: Model,
    net: AbstractNet,
    data: AbstractGenerator,
    symmetry: str,
    weights: int,
    peak: float,
) -> tuple[tuple[str, str], ...]:
    """Describe every choice in a few words."""
    about, counts = functions.variables, functions.rows.sum(axis=1)
    sizes = f"{counts.min()}" if counts.min() == counts.max() else f"{counts.min()}-{counts.max()}"
    sphere = about.codomain == "sphere"
    config = net.config.to_dict()
    hidden = ("wavelength",) if config.get("num_frequencies") == 0 else ()
    names = (name for name in SHOWN if name in config and not name.endswith(hidden))
    shown = ", ".join(f"{name} {config[name]}" for name in names)
    units = model.normaliser or Normaliser()
    turning = ", nor with rotations about the Earth's axis" if symmetry == "translation" else ""
    lines = {
        "functions": f"{len(counts)} with {sizes} points each",
        "inputs": ", ".join(map(_about, about.inputs[: about.num_inputs])),
        **_world(functions, units),
        "outputs": ", ".join(map(_about, about.outputs))
        + _what(about, config.get("representations")),
        "symmetry": f"{symmetry}: {SYMMETRY[symmetry]}" + (turning if sphere else ""),
        "network": f"{type(net).__name__}, {weights} parameters: {shown}",
        "kernel": _noising(model, sphere),
        "scaling": _scaling(units, sphere),
        "training": f"batches of {data.batch_size} functions{_most(data)}, half of them with "
        f"contexts; Adam up to {peak:g}, times dense near zero",
    }
    if functions.mask.ndim == 3:
        values = functions.mask.sum(axis=(0, 1)) / counts.sum()
        shares = zip(about.output_names, values, strict=True)
        listed = ", ".join(f"{1 - share:.0%} of {name}" for name, share in shares)
        lines["missing"] = f"{listed}; every output has its own times and contexts"
    if len(counts) < 20:
        lines["beware"] = f"{len(counts)} functions are few: a Gaussian process may do better"
    return tuple(lines.items())


def process_choices(
    functions: Functions, model: ProcessModel, data: AbstractGenerator, method: str, peak: float
) -> tuple[tuple[str, str], ...]:
    """Describe a neural process and its training in a few words."""
    about, counts = functions.variables, functions.rows.sum(axis=1)
    units = model.normaliser or Normaliser()
    lines = {
        "functions": f"{len(counts)} with {counts.min()}-{counts.max()} points each",
        "inputs": ", ".join(map(_about, about.inputs[: about.num_inputs])),
        **_world(functions, units),
        "outputs": ", ".join(map(_about, about.outputs)),
        "method": f"{method}: {model.process!r}",
        "scaling": _scaling(units, False),
        "training": f"batches of {data.batch_size} functions{_most(data)} with contexts; Adam up "
        f"to {peak:g}",
        "fit": "gn.fit(plan, steps=..., key=...): no other models are tried",
    }
    return tuple(lines.items())


def estimate(
    net: AbstractNet, data: AbstractGenerator, count: int, grouped: bool, ordered: bool
) -> str:
    """What a fit without steps does to so many functions or groups, and how long it takes."""
    folds = cross_validates(count, ordered)
    held = "each fifth of the functions in turn" if folds else "a fifth"
    held += ", where time allows," if folds and count >= FEW_FUNCTIONS else ""
    held += " (whole groups)" if grouped else ""
    held += " (the last in time)" if ordered and not folds else ""
    speed = ""
    if isinstance(net, RelativeAttention | BiDimensionalAttention):
        speed = f", about {steps_per_minute(net, data)} steps per minute at this size on two cores"
    return (
        f"{TIME_LIMIT}: {held} held out; simple Gaussian "
        f"models, then networks for the time that is left{speed}; the best law is refitted"
    )


def _world(functions: Functions, units: Normaliser) -> dict[str, str]:
    """Covariates, periods and known noise, where there are any."""
    about, lines = functions.variables, {}
    if about.num_covariates:
        lines["covariates"] = ", ".join(map(_about, about.inputs[about.num_inputs :]))
    if any(units.x_period):
        pairs = zip(about.input_names, units.x_period[-len(about.inputs) :], strict=True)
        lines["periodic"] = ", ".join(f"{name} every {p:g}" for name, p in pairs if p)
    if functions.noise is not None:
        noise = functions.noise[functions.rows]
        lines["noise"] = f"known variances {noise.min():.3g} to {noise.max():.3g}: the model is "
        lines["noise"] += "that of the clean functions"
    return lines


def _most(data: AbstractGenerator) -> str:
    most = data.max_points if isinstance(data, ResampledGenerator) else None
    return f" at {most} random points each" if most else ""


def _what(about: Variables, representations: tuple[str, ...] | None) -> str:
    """Say what the outputs are together."""
    if about.codomain == "sphere":
        return " on the sphere"
    if representations is None:
        return ""
    locations = ", ".join(about.input_names[: about.num_inputs])
    locations = "east, north" if about.domain == "sphere" else locations
    return f": {', '.join(representations)}, along {locations}"


def _about(variable: Variable) -> str:
    return f"{variable.name} [{variable.units}]" if variable.units else variable.name


def _noising(model: Model, sphere: bool) -> str:
    schedule = model.noising.schedule
    assert isinstance(schedule, LinearSchedule)
    rates = f"beta from {schedule.beta0:g} to {schedule.beta1:g}, t_min {model.t_min:g}"
    if sphere:
        return f"Brownian motion on the sphere, {rates}"
    return f"white noise of the data's variance, {rates}"


def _scaling(units: Normaliser, sphere: bool) -> str:
    def row(values: tuple[float, ...]) -> str:
        listed = ", ".join(f"{value:.4g}" for value in values)
        return listed if len(values) == 1 else f"({listed})"

    x = f"x = (inputs - {row(units.x_shift)}) / {row(units.x_scale)}"
    if sphere:
        return f"{x}; outputs as unit vectors"
    return f"{x}; y = (outputs - {row(units.y_shift)}) / {row(units.y_scale)}"
