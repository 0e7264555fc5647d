"""Neural processes by name, with the tags of their classes in model files; plain Python."""

from __future__ import annotations

DIFFUSION = "geomndp"
"""Name of the method that is no neural process."""
METHODS = {
    "anp": "process/anp",
    "convcnp": "process/conv-cnp",
    "convgnp": "process/conv-gnp",
    "convnp": "process/conv-np",
    "flownp": "process/flow-np",
    "fullconvgnp": "process/full-conv-gnp",
    "steercnp": "process/steer-cnp",
    "te-tnp": "process/te-tnp",
}
"""Name -> tag of the class."""
ROLLED_OUT = "ar-"
"""Prefix of a method whose targets come one after the other."""
FACTORISED = ("convcnp", "steercnp", "te-tnp")
"""Methods that may have the prefix."""
MODULES = {
    tag: f"geomndp.baselines.neural_processes.{tag.partition('/')[2].replace('-', '_')}"
    for tag in (*METHODS.values(), "process/autoregressive")
}
"""Modules that register classes under these tags, imported when one is asked for."""


def method_names() -> tuple[str, ...]:
    """All methods, that of diffusion models first."""
    return (DIFFUSION, *METHODS, *(f"{ROLLED_OUT}{name}" for name in FACTORISED))
