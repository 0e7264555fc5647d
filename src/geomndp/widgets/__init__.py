"""Widgets of notebooks: the playground inside JupyterLab, VS Code and marimo."""

from geomndp.widgets.playground import Playground

__all__ = ["Playground"]
