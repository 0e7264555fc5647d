"""What an experiment is: one table, the models it trains, and how they are evaluated. No JAX."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from geomndp import _model_files
from geomndp.experiments import results
from geomndp.experiments.metric_columns import MetricColumns
from geomndp.experiments.table import Table

if TYPE_CHECKING:
    from geomndp.model import Model


class Unavailable(Exception):
    """Figures that cannot be drawn, and why."""


class Deferred(NamedTuple):
    """A function by its module and name, imported when it is called.

    With it, experiments are listed and their tables printed without JAX.
    """

    module: str
    name: str

    def resolve(self) -> Callable[..., Any]:
        """Import the function."""
        return getattr(import_module(self.module), self.name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.resolve()(*args, **kwargs)


PARTS = {
    "model": ("training", "make_model"),
    "generator": ("training", "make_generator"),
    "loss": ("training", "make_loss"),
    "optimiser": ("training", "make_optimiser"),
    "evaluate": ("evaluate", "evaluate"),
    "report": ("report", "report"),
    "figures": ("figures", "figures"),
}
"""Part of an experiment -> its module and function in the experiment's package."""


NO_COLUMNS = MetricColumns("", (), lambda metrics: ())


def _no_models(*_: Any, **__: Any) -> Any:
    """Stand in for a part of an experiment that trains no model by name."""
    raise ValueError("expected an experiment that trains models by name, got one that does not")


def _unknown(name: str) -> None:
    """Stand in for the exact process of functions that have none."""
    return None


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """One table of results: the models it trains, their evaluation, its report and figures.

    Args:
        name: Name of the table, as `geomndp reproduce` takes it.
        models: Names of its models, as `geomndp train` takes them.
        model: (name, *, key, compute_dtype=None, **network options) -> untrained model.
        generator: (name, batch_size, **data options) -> generator of training functions, or
            several that take turns.
        loss: () -> training loss.
        optimiser: (name, steps) -> optax optimiser.
        evaluate: (model, name, *, num, region, route, probes, seed, directory, **data options) ->
            metrics of a trained model on `num` test functions, JSON-serialisable.
        report: (results) -> tables, from stored results and the cards of shipped models.
        figures: (results, folder, data) -> paths of figures, drawn one by one; `data` is an archive
            or None. Raises `Unavailable` where something is missing.
        results: Stored results that come with the package; only ever read.
        columns: How `geomndp list` shows metrics.
        title: Heading of the tables.
        steps: Default number of training steps.
        batch_size: Default number of functions per step.
        regions: Names of the test sets of `evaluate`, the default first.
        data_options: Options of the data with their defaults, such as {"split": 0}.
        quick_options: Options of `evaluate` when shipped models are measured anew.
        any_process: Whether `evaluate` takes any process, not diffusion models alone.
        exact: (name) -> the exact process of a model's functions, None where it is unknown.
        measure: (num, *, only, data, directory, log) -> results, for an experiment that measures
            something else than its shipped models; it may then train no model by name.
    """

    name: str
    report: Callable[[dict], list[Table]]
    figures: Callable[[dict, Path, str | None], Iterable[Path]]
    results: Path
    title: str
    models: tuple[str, ...] = ()
    model: Callable[..., Model] = _no_models
    generator: Callable[..., Any] = _no_models
    loss: Callable[[], Any] = _no_models
    optimiser: Callable[[str, int], Any] = _no_models
    evaluate: Callable[..., dict[str, Any]] = _no_models
    columns: MetricColumns = NO_COLUMNS
    steps: int = 0
    batch_size: int = 0
    regions: tuple[str, ...] = ("interpolation",)
    data_options: Mapping[str, Any] = field(default_factory=dict)
    quick_options: Mapping[str, Any] = field(default_factory=dict)
    any_process: bool = False
    exact: Callable[[str], Any] = _unknown
    measure: Callable[..., dict[str, Any]] | None = None

    @classmethod
    def in_folder_of(cls, module: str, **fields: Any) -> Experiment:
        """An experiment whose parts and results have their usual names beside a module.

        Args:
            module: The module's `__name__`; beside it are those of `PARTS` and `results.json`.
            **fields: All other fields.

        Returns:
            The experiment; no part is imported before it is called.
        """
        package = module.rpartition(".")[0]
        parts = {part: Deferred(f"{package}.{file}", f) for part, (file, f) in PARTS.items()}
        folder = Path(import_module(package).__path__[0])
        return cls(**{**parts, "results": folder / "results.json", **fields})

    def read_results(self, path: str | Path | None = None) -> dict:
        """Results of a file; those that come with the package without a path."""
        return results.read(self.results if path is None else path)

    def options(self, **options: Any) -> dict[str, Any]:
        """Data options with defaults.

        Args:
            **options: Options by name; None stands for the default.

        Returns:
            All options of the experiment's data.

        Raises:
            ValueError: For an option that this experiment does not have.
        """
        options = {name: value for name, value in options.items() if value is not None}
        if unknown := [name for name in options if name not in self.data_options]:
            known = ", ".join(f"--{name}" for name in self.data_options) or "none"
            raise ValueError(
                f"expected options of the data of {self.name} ({known}), "
                f"got --{unknown[0]} {options[unknown[0]]}"
            )
        return {**self.data_options, **options}

    def shipped(self) -> list[str]:
        """Names of its models that come with the package."""
        names = _model_files.names()
        return [name for name in self.models if name in names]

    def measure_shipped(self, num: int, **options: Any) -> dict[str, dict[str, dict]]:
        """Measure all its shipped models anew.

        Args:
            num: Number of test functions.
            **options: Further arguments of `evaluate`.

        Returns:
            Model -> region -> metrics.
        """
        from geomndp.model import load

        settings = {"route": "conditional", "probes": None, "seed": 1234, "directory": None}
        settings |= {**self.quick_options, **options}
        return {
            name: {
                region: self.evaluate(load(name), name, num=num, region=region, **settings)
                for region in self.regions
            }
            for name in self.shipped()
        }
