"""A network and a noising for a symmetry, sized by the data."""

from __future__ import annotations

import inspect
import math
from typing import Any

import jax.numpy as jnp
import numpy as np

from geomndp._types import PRNGKeyArray
from geomndp.auto.data_statistics import Density, step_length
from geomndp.auto.sphere_inputs import SPHERE_SYMMETRIES, angle_of_chord
from geomndp.equivariance import FieldType
from geomndp.geometry import Sphere
from geomndp.kernels import Diagonal, White
from geomndp.nets import (
    AbstractNet,
    BiDimensionalAttention,
    RelativeAttention,
    SphericalAttention,
    Steerable2,
    Steerable3,
    SteerableSphere,
)
from geomndp.noising import (
    DEFAULT_SCHEDULE,
    DEFAULT_SCHEDULE_1D,
    AbstractNoising,
    Brownian,
    OrnsteinUhlenbeck,
)
from geomndp.score import NetworkScore, PreconditionK
from geomndp.tables import Functions

SYMMETRIES = ("translation", "E(2)", "E(3)", *SPHERE_SYMMETRIES, "none")
SPACE = {"E(2)": 2, "E(3)": 3, **dict.fromkeys(SPHERE_SYMMETRIES, 2)}
TRAINING_BATCH = 64  # functions per training step
FEW, MANY = 3_000, 100_000  # points of all functions together
PEAKS = {RelativeAttention: 3e-3, Steerable2: 2e-3, SteerableSphere: 2e-3}


def field_type_of(functions: Functions, symmetry: str, representations: Any) -> FieldType | None:
    """What the outputs are under motions of space: one scalar, or one vector, if not said."""
    about = functions.variables
    if symmetry not in SPACE:
        if representations is not None:
            only = "representations with E(2), E(3), SO(3) or axial only"
            raise ValueError(f"expected {only}, got them with {symmetry!r}")
        return None
    if about.codomain == "sphere":
        raise ValueError(f"expected 'translation' or 'none' on the sphere, got {symmetry!r}")
    dim, p = SPACE[symmetry], about.dim
    if about.num_inputs != dim:
        names = ", ".join(about.input_names[: about.num_inputs])
        raise ValueError(f"expected {dim} inputs for {symmetry}, got {names}")
    if representations is None and p not in (1, dim):
        raise ValueError(
            "expected representations=... (scalar, vector, ...), got none, of the outputs "
            + ", ".join(about.output_names)
        )
    if representations is None:
        representations = "scalar" if p == 1 else "vector"
    names = (representations,) if isinstance(representations, str) else representations
    field_type = FieldType(dim, *names)
    if field_type.size != p:
        raise ValueError(
            f"expected representations of {p} outputs, got {field_type.size} for {names}"
        )
    return field_type


def check_order(rigid: FieldType | None, inputs: Any, functions: Functions) -> None:
    """Refuse vectors whose inputs were not named: components follow the order of the inputs."""
    if (
        rigid is not None
        and inputs is None
        and set(rigid.representations) - {"scalar", "pseudoscalar"}
    ):
        got = ", ".join(functions.variables.input_names)
        raise ValueError(
            f"expected inputs=... in the order of the vectors' components, got none ({got}?)"
        )


def network(
    functions: Functions,
    symmetry: str,
    rigid: FieldType | None,
    spaced: Density,
    options: dict[str, Any],
    periods: tuple[float, ...] = (),
    *,
    key: PRNGKeyArray,
) -> AbstractNet:
    """Untrained network; `options` replace what would be chosen, periods are in its units."""
    d, p = functions.x.shape[2], functions.variables.dim
    few = int(functions.rows.sum()) < FEW
    common = {"dtype": jnp.dtype(jnp.result_type(float)).name, "key": key}
    sizes: dict[str, Any] = {"width": 32 if few else 64, "num_layers": 3 if few else 5}
    if covariates := functions.variables.num_covariates:
        sizes["num_invariant_inputs"] = covariates
    sizes |= {"periods": periods} if any(periods) else {}
    if functions.variables.codomain == "sphere":
        sizes |= _track_sizes(functions, symmetry, spaced)
        return _make(SphericalAttention, (d,), sizes, options, common)
    if functions.mask.ndim == 3:
        if rigid is not None:
            raise ValueError(
                f"expected all outputs at a point or none for {symmetry}, got a part of them at "
                "some; use symmetry 'translation' or 'none', or drop_missing=True"
            )
        sizes["num_groups"] = p
    if rigid is not None and symmetry in SPHERE_SYMMETRIES:
        radius = min(_up(angle_of_chord(spaced.radius)), math.pi)
        sizes |= {"radius": radius, "max_neighbours": spaced.most, "axial": symmetry == "axial"}
        return _make(SteerableSphere, (rigid.representations,), sizes, options, common)
    if rigid is not None:
        sizes |= {"radius": _up(spaced.radius), "max_neighbours": spaced.most}
        net = Steerable2 if rigid.dim == 2 else Steerable3
        return _make(net, (rigid.representations,), sizes, options, common)
    if symmetry == "translation":
        sizes |= wavelengths(spaced.spacing, spaced.extent)
        return _make(RelativeAttention, (d, p), sizes, options, common)
    sizes |= wavelengths(spaced.spacing, spaced.reach) | {"token_axis": "points", "pre_norm": True}
    return _make(BiDimensionalAttention, (d, p), sizes, options, common)


def _track_sizes(functions: Functions, symmetry: str, spaced: Density) -> dict[str, Any]:
    """Options of a network of tracks on the sphere."""
    sizes = {"width": 128, "num_layers": 6} if int(functions.rows.sum()) > MANY else {}
    return {
        **sizes,
        **wavelengths(spaced.spacing, spaced.extent),
        "absolute_min_wavelength": 0.0 if symmetry == "translation" else 0.5,
        "noise_rate": math.sqrt(DEFAULT_SCHEDULE.beta1 / 2),
        "resolution": _round(0.3 * step_length(*functions[:3])),
    }


def _make(kind: type[AbstractNet], dims: tuple, sizes: dict, options: dict, common: dict) -> Any:
    """Network with a user's options, refused in a sentence where they do not fit."""
    known = inspect.signature(kind.config_type).parameters
    options = kind.config_type.current_names(options)
    if unknown := [name for name in options if name not in known]:
        listed = ", ".join(name for name in known if name not in common)
        raise ValueError(f"expected options of {kind.__name__} ({listed}), got {unknown[0]!r}")
    try:
        return kind(*dims, **sizes | options, **common)
    except TypeError as error:
        text = " ".join(str(error).split())[:200]
        raise ValueError(f"expected options that fit {kind.__name__}, got {text}") from error


def wavelengths(spacing: float, extent: float) -> dict[str, Any]:
    """From twice the points' spacing to four times the extent of the inputs, two per octave."""
    low = _round(2 * spacing)
    high = _round(max(4 * extent, 4 * low))
    count = int(np.clip(math.ceil(2.2 * math.log2(high / low)), 8, 32))
    return {"min_wavelength": low, "max_wavelength": high, "num_frequencies": count}


def _round(value: float) -> float:
    """Two digits are enough, and can be read."""
    return float(f"{value:.2g}")


def _up(value: float) -> float:
    return math.ceil(value * 1e4) / 1e4


def noising_and_score(net: AbstractNet, codomain: str) -> tuple[AbstractNoising, NetworkScore]:
    """White noise of unit variance on R^p, Brownian motion on the sphere."""
    if codomain == "sphere":
        return Brownian(Sphere(2), DEFAULT_SCHEDULE), NetworkScore(net, PreconditionK())
    kernel = White() if net.output_dim == 1 else Diagonal(White(), net.output_dim)
    one_input = net.input_dim - getattr(net.config, "num_invariant_inputs", 0) == 1
    schedule = DEFAULT_SCHEDULE_1D if one_input else DEFAULT_SCHEDULE
    return OrnsteinUhlenbeck(kernel, schedule), NetworkScore(net)
