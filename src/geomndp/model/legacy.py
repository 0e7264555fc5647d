"""Documents of older versions as those of the present one.

Version 1 named classes by their Python names, version 2 by tags; version 3 has other names for some
fields.

To rename a field of a registered class (its tag, and the names of tensors, stay as they are):

1. Rename the field, and let its constructor take the old name for one release
   (`renamed_arguments` of `geomndp._deprecated`).
2. If files of the present version were released, add one to `geomndp._model_files.VERSION` and the
   old number to the versions that `read_document` there accepts, and write the step to the new one
   here, with a table of its own like `FIELD_RENAMES`; else add the row
   `{tag: {old field: new field}}` to the last table.
3. Let `upgrade` take that step, and load a file of every older version in
   `tests/model/test_legacy.py`.
"""

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

DOCUMENT = "document"
FIELD_RENAMES: dict[str, dict[str, str]] = {
    DOCUMENT: {"eps": "t_min"},
    "net/bidimensional-attention": {
        "tokens": "token_axis",
        "normalised": "pre_norm",
        "implementation": "attention_backend",
    },
    "net/relative-attention": {"implementation": "attention_backend"},
    "net/steerable-2d": {
        "kinds": "representations",
        "side_dim": "num_invariant_inputs",
        "num_scales": "num_pooling_widths",
        "implementation": "attention_backend",
    },
    "net/steerable-3d": {"kinds": "representations"},
    "net/track-attention": {"absolute": "absolute_min_wavelength"},
}
"""Fields of version 2 and their names in version 3, by the tag of their class.

`DOCUMENT` stands for the document itself.
"""


def upgrade(document: dict[str, Any]) -> dict[str, Any]:
    """A document of version 1, 2 or 3 as one of version 3; parameters are stored as they are."""
    if document["version"] == 1:
        document = _with_tags(document)
    if document["version"] == 2:
        document = _with_new_fields(document)
    return document


def _with_new_fields(document: dict[str, Any]) -> dict[str, Any]:
    """A document of version 2 as one of version 3."""
    parts = {k: v if k == "metadata" else _renamed(v) for k, v in document.items()}
    return {**_rename_fields(parts, DOCUMENT), "version": 3}


def _renamed(value: Any) -> Any:
    """A part of a document, and the parts inside it, with the fields of version 3."""
    if isinstance(value, list):
        return [_renamed(item) for item in value]
    if not isinstance(value, dict):
        return value
    parts = {key: _renamed(item) for key, item in value.items()}
    tag = parts.get("kind")
    return _rename_fields(parts, tag) if isinstance(tag, str) else parts


def _rename_fields(parts: dict[str, Any], tag: str) -> dict[str, Any]:
    names = FIELD_RENAMES.get(tag, {})
    if twice := [old for old, new in names.items() if old in parts and new in parts]:
        raise ValueError(f"expected one of {twice[0]} and {names[twice[0]]} for {tag}, got both")
    return {names.get(key, key): value for key, value in parts.items()}


def _with_tags(document: dict[str, Any]) -> dict[str, Any]:
    """A document of version 1 as one of version 2."""
    net = document.get("net")
    dtype = net.get("dtype") if isinstance(net, dict) else None
    added = {"version": 2, "dtype": dtype, "stored_dtype": dtype}
    kept = ("metadata", "support")  # a record of training may be added to an old document
    parts = {k: v if k in kept else _tagged(k, v) for k, v in document.items()}
    return {"normaliser": None, "variables": None, "support": None, **parts, **added}


def _tagged(field: str, value: Any) -> Any:
    if isinstance(value, list):
        return [_tagged(field, item) for item in value]
    if not isinstance(value, dict):
        return value
    parts = {key: _tagged(key, item) for key, item in value.items()}
    kind = parts.get("kind")
    if kind == "Product":
        # Kernels and manifolds shared the name.
        return {**parts, "kind": f"{'manifold' if field in _MANIFOLDS else 'kernel'}/product"}
    if isinstance(kind, str):
        # A tag was no name then.
        parts["kind"] = _TAGS.get(kind, f"unknown: {kind}")
    return parts
