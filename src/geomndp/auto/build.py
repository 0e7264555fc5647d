"""From a user's own data set to everything that `fit` needs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import equinox as eqx
import jax
import numpy as np

from geomndp import _validation
from geomndp._deprecated import renamed_arguments
from geomndp._methods import DIFFUSION, method_names
from geomndp._types import PRNGKeyArray
from geomndp._validation import as_key
from geomndp.auto.data_statistics import density, normaliser
from geomndp.auto.defaults import (
    PEAKS,
    SYMMETRIES,
    TRAINING_BATCH,
    check_order,
    field_type_of,
    network,
    noising_and_score,
)
from geomndp.auto.degenerate import warn_of_own_dates, warn_of_values
from geomndp.auto.function_order import in_canonical_order
from geomndp.auto.neural_process_plan import process_plan
from geomndp.auto.plan import TrainingPlan
from geomndp.auto.sphere_inputs import (
    check_components,
    check_sphere,
    column_periods,
    location_columns,
)
from geomndp.auto.summary import choices, estimate
from geomndp.auto.training_stream import training_stream
from geomndp.auto.world import periods_of
from geomndp.equivariance import FieldType
from geomndp.model import Model
from geomndp.model.inputs import Seed
from geomndp.nets import AbstractNet
from geomndp.tables import CODOMAINS, Functions, read_functions, read_groups
from geomndp.train import default_loss


@renamed_arguments(kinds="representations")
def build(
    dataset: Any,
    symmetry: str = "translation",
    codomain: str = "real",
    *,
    function: Any = None,
    inputs: Any = None,
    outputs: Any = None,
    representations: Any = None,
    covariates: Any = (),
    periodic: Mapping[str, Any] | None = None,
    noise: Any = None,
    groups: Any = None,
    ordered: bool = False,
    drop_missing: bool = False,
    method: str = DIFFUSION,
    batch_size: int | None = None,
    key: Seed | None = None,
    **options: Any,
) -> TrainingPlan:
    """Choose network, noising, scaling and training for a table of many functions.

    Args:
        dataset: A Dataset, whose dimension(s) `function` count functions and all other dimensions
            their points; or a DataFrame with a column `function`. NaN pads functions that have
            fewer points; in some outputs of a point it means that these are missing.
        symmetry: "translation" of all inputs (for tracks on the sphere, of time, with rotations
            about the Earth's axis), "E(2)" or "E(3)" (rigid transforms of the inputs, under which
            outputs transform by their `representations`), or "none". Of fields over the Earth, at
            latitudes and longitudes in degrees: "SO(3)" (all rotations and reflections of the
            sphere), or "axial" (rotations about the axis, and the mirror image of the hemispheres).
        codomain: "real", or "sphere" for a latitude and a longitude in degrees.
        function: Name(s) of the dimension(s) that count functions, or of a DataFrame's column; by
            default "function", or the dimensions that none of the named inputs has.
        inputs: Names of the inputs, by default all coordinates of the points; needed for a
            DataFrame. Datetimes become elapsed times, from the earliest of their function or, with
            symmetry "none", from the earliest of all.
        outputs: Names of the outputs, by default all data variables; on the sphere the latitude and
            the longitude.
        representations: "scalar", "vector", ... of the outputs under E(2) or E(3), components in
            the order of the inputs; over the Earth east, then north.
        covariates: Names of columns of numbers that are known at every point (elevation, land, day
            of the year), also where the model is asked later. They are features of their point,
            which no symmetry moves, and the last columns of x where x is an array.
        periodic: Periods of inputs or covariates by name, in their units, such as {"day": 365}: x
            and x + period are the same point. Numbers only, no datetimes.
        noise: Known variance of the values' noise, in the square of their units: a number, the name
            of a column, or either by output. The model is then that of the clean functions.
        groups: Name of a column or variable with one label per function, or the labels: functions
            of one label (scans of a person) are held out for validation together.
        ordered: Whether functions follow each other in time, in the order of their labels: then
            the last ones are held out. Numbers in texts count as numbers: run2, run10.
        drop_missing: Whether points of which some outputs are missing are left out; otherwise the
            model learns from what is there, and every output is observed apart from the others.
        method: "geomndp", the diffusion model, or a neural process to compare it with: "convcnp",
            "te-tnp", ..., or with the prefix "ar-" one whose targets come one after the other
            (`geomndp list` names all). It is trained by `gn.fit(plan, steps=..., key=...)`.
        batch_size: Functions per training step; by default 64, for neural processes on grids of two
            axes 16.
        key: Random key or seed of the network's parameters.
        **options: Options of the network, such as `width`, instead of the chosen ones.

    Returns:
        A plan: `print` it to see what was chosen, `gn.fit(plan, key=...)` fits it.

    Raises:
        ValueError: If the table, the symmetry and the options do not fit together.

    Example:
        `plan = gn.build(days, symmetry="translation", function="day")`
    """
    _validation.one_of("symmetry", symmetry, SYMMETRIES)
    _validation.one_of("codomain", codomain, CODOMAINS)
    _validation.one_of("method", method, method_names())
    reading = {"function": function, "inputs": inputs, "outputs": outputs, "codomain": codomain}
    reading |= {"elapsed": symmetry != "none", "drop_missing": drop_missing}
    globe = check_sphere(symmetry, codomain, method)
    reading |= {"domain": "sphere" if globe else "real"}
    reading |= {"covariates": covariates, "noise": noise, "numbers": tuple(periodic or ())}
    functions, labels = _functions_and_groups(dataset, groups, reading)
    warn_of_values(functions)
    functions, order = in_canonical_order(functions, ordered)
    labels = None if labels is None else tuple(labels[row] for row in order)
    warn_of_own_dates(functions, symmetry)
    rigid = _rigid_type(functions, symmetry, representations, inputs, outputs, globe)
    periods = periods_of(functions.variables, periodic, rigid is not None)
    periods = column_periods(functions.variables, periods)
    seed = as_key(0 if key is None else key)
    given = (symmetry, rigid, periods, options)
    if method != DIFFUSION:
        plan = process_plan(functions, method, *given, batch_size=batch_size, key=seed)
    else:
        plan = _diffusion_plan(functions, labels, ordered, *given, batch_size=batch_size, key=seed)
    of_table = {"groups": labels, "ordered": ordered, "order": tuple(order.tolist())}
    return dataclasses.replace(plan, **of_table)


def _rigid_type(
    functions: Functions,
    symmetry: str,
    representations: Any,
    inputs: Any,
    outputs: Any,
    globe: bool,
) -> FieldType | None:
    """What the outputs are under motions of space, in the order of their components."""
    rigid = field_type_of(functions, symmetry, representations)
    if globe and rigid is not None:
        check_components(rigid, outputs)
    else:
        check_order(rigid, inputs, functions)
    return rigid


def _functions_and_groups(
    dataset: Any, groups: Any, reading: dict[str, Any]
) -> tuple[Functions, tuple[str, ...] | None]:
    """Functions of a table, and one label for each where groups are named."""
    labels = None
    if groups is not None:
        dataset, labels = read_groups(dataset, groups, reading["function"])
    functions = read_functions(dataset, **reading)
    if labels is not None and len(labels) != len(functions.x):
        raise ValueError(f"expected {len(functions.x)} groups, one per function, got {len(labels)}")
    return functions, labels


def _diffusion_plan(
    functions: Functions,
    labels: tuple[str, ...] | None,
    ordered: bool,
    symmetry: str,
    rigid: FieldType | None,
    periods: tuple[float, ...],
    options: dict[str, Any],
    *,
    batch_size: int | None,
    key: PRNGKeyArray,
) -> TrainingPlan:
    """Plan for a diffusion model; arguments as those of `build` and `untrained_model`."""
    model, net = untrained_model(functions, symmetry, rigid, periods, options, key=key)
    units: Any = model.normaliser
    size = TRAINING_BATCH if batch_size is None else batch_size
    data = training_stream(functions, units, size, rigid is not None)
    peak = PEAKS.get(type(net), 1e-3)
    weights = sum(leaf.size for leaf in jax.tree.leaves(eqx.filter(net, eqx.is_array)))
    words = choices(functions, model, net, data, symmetry, weights, peak)
    loss = default_loss(functions.variables.codomain)
    count = len(functions.x) if labels is None else len(set(labels))
    line = estimate(net, data, count, labels is not None, ordered)
    if functions.variables.domain == "sphere":
        line = "needs steps=...: there are no other models of fields on the sphere to try"
    if functions.noise is not None:
        line = "needs steps=...: noisy values cannot compare models of the clean functions"
    words += (("fit", line),)
    vectors = rigid is not None and rigid.representations == ("vector",)
    parts = (model, data, loss, peak, words, functions)
    return TrainingPlan(*parts, resizable=not options, vectors=vectors)


def untrained_model(
    functions: Functions,
    symmetry: str,
    rigid: FieldType | None,
    periods: tuple[float, ...],
    options: dict[str, Any],
    *,
    key: PRNGKeyArray,
) -> tuple[Model, AbstractNet]:
    """A model for functions, in units of its own, sized by the data.

    Args:
        functions: Functions in the data's units.
        symmetry: Symmetry of the network.
        rigid: What the outputs are under motions of space, None without these.
        periods: Period of every input in the data's units, zero where it has none; `()` for none.
        options: Options of the network instead of the chosen ones.
        key: Random key of the parameters.

    Returns:
        The model and its network.
    """
    units = normaliser(functions, rigid, periods)
    d, model_periods = location_columns(functions.variables), units.model_periods
    locations = np.asarray(units.forward_x(functions.x))[:, :, :d]
    spaced = density(locations, functions.rows, periods=model_periods[:d])
    net = network(functions, symmetry, rigid, spaced, options, model_periods, key=key)
    noising, score = noising_and_score(net, functions.variables.codomain)
    return Model(noising, score, normaliser=units, variables=functions.variables), net
