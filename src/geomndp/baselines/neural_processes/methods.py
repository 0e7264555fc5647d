"""Neural processes by name; a method's module is imported when it is asked for. No JAX."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from geomndp import _validation

METHODS: dict[str, str] = {
    "convcnp": "conv_cnp:ConvCNP",
    "convgnp": "conv_gnp:ConvGNP",
    "fullconvgnp": "full_conv_gnp:FullConvGNP",
    "convnp": "conv_np:ConvNP",
    "te-tnp": "te_tnp:TETNP",
    "steercnp": "steer_cnp:SteerCNP",
}
"""Name -> module of this package and class, made by (input_dim, output_dim, *, key, **options)."""


def process_class(name: str) -> Any:
    """Look up a neural process.

    Args:
        name: A key of `METHODS`.

    Returns:
        The class, whose module is imported here.

    Raises:
        ValueError: If there is no method of that name.
    """
    _validation.one_of("method", name, tuple(METHODS))
    module, _, class_name = METHODS[name].partition(":")
    return getattr(import_module(f"{__name__.rpartition('.')[0]}.{module}"), class_name)


__all__ = ["METHODS", "process_class"]
