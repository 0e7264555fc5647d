"""Documents of version 1, which named classes by their Python names, as those of version 2."""

from __future__ import annotations

from typing import Any

_TAGS = {
    "Brownian": "noising/brownian",
    "Constant": "mean/constant",
    "CosineSchedule": "schedule/cosine",
    "CurlFree": "kernel/curl-free",
    "Diagonal": "kernel/diagonal",
    "DivergenceFree": "kernel/divergence-free",
    "Hessian": "kernel/hessian",
    "LinearSchedule": "schedule/linear",
    "Matern12": "kernel/matern-12",
    "Matern32": "kernel/matern-32",
    "Matern52": "kernel/matern-52",
    "Normaliser": "normaliser/affine",
    "OrnsteinUhlenbeck": "noising/ornstein-uhlenbeck",
    "Periodic": "kernel/periodic",
    "PreconditionK": "parametrisation/precondition-k",
    "PreconditionRoot": "parametrisation/precondition-root",
    "PredictData": "parametrisation/data",
    "SO3": "manifold/so3",
    "Scaled": "kernel/scaled",
    "Sphere": "manifold/sphere",
    "SquaredExponential": "kernel/squared-exponential",
    "Sum": "kernel/sum",
    "Torus": "manifold/torus",
    "Unconditioned": "parametrisation/none",
    "Variable": "variable/plain",
    "Variables": "variables/plain",
    "Velocity": "parametrisation/velocity",
    "White": "kernel/white",
    "bidimensional": "net/bidimensional-attention",
    "relative": "net/relative-attention",
    "steerable2": "net/steerable-2d",
    "steerable3": "net/steerable-3d",
    "tracks": "net/track-attention",
}
_MANIFOLDS = ("manifold", "factors")


def upgraded(document: dict[str, Any]) -> dict[str, Any]:
    """The same model with tags in the place of names; parameters are stored as they are."""
    net = document.get("net")
    dtype = net.get("dtype") if isinstance(net, dict) else None
    added = {"version": 2, "dtype": dtype, "stored_dtype": dtype}
    kept = ("metadata", "support")  # a record of training may be added to an old document
    parts = {k: v if k in kept else _tagged(k, v) for k, v in document.items()}
    return {"normaliser": None, "variables": None, "support": None, **parts, **added}


def _tagged(place: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_tagged(place, item) for item in value]
    if not isinstance(value, dict):
        return value
    parts = {key: _tagged(key, item) for key, item in value.items()}
    kind = parts.get("kind")
    if kind == "Product":
        # Kernels and manifolds shared the name.
        return {**parts, "kind": f"{'manifold' if place in _MANIFOLDS else 'kernel'}/product"}
    if isinstance(kind, str):
        # A tag was no name then.
        parts["kind"] = _TAGS.get(kind, f"unknown: {kind}")
    return parts
