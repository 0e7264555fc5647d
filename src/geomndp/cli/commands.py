"""The commands and their arguments, as plain dataclasses: parsing imports no JAX."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from tyro.conf import Positional, arg


@dataclass(frozen=True)
class Demo:
    """See it work: shipped models given a few observations, on one page of figures and numbers.

    Example: geomndp demo --out out --steps 500
    """

    out: str = "out"
    """Folder for the page (demo.html) and its figures."""
    steps: int = 0
    """Also train a small model from scratch for so many steps, and show its regret."""
    seed: int = 0
    """Seed of all random numbers."""
    num_samples: int = 64
    """Samples of every posterior; of the fields, which cost most, a quarter."""


@dataclass(frozen=True)
class Play:
    """Open a playground in the browser: place observations, drag them, see the posterior move.

    Example: geomndp play regression1d/se

    Example: geomndp play runs/mine/model --observations obs.csv
    """

    name: Annotated[Positional[str], arg(metavar="MODEL")] = "regression1d/se"
    """Shipped model (geomndp list), a path to one, or the folder of a training."""
    observations: str | None = None
    """File of observations to begin with: .csv, .parquet or .nc, with the model's columns, and the
    standard deviation of their noise in a column `std` if there is any."""
    num_samples: int | None = None
    """Samples to begin with."""
    seed: int = 0
    """Seed of all random numbers."""
    port: int = 0
    """Port on this machine; one that is free by default."""
    browser: bool = True
    """Open the page in a browser; without, its address is printed only."""


@dataclass(frozen=True)
class List:
    """List the models that come with the package, with what was measured of them.

    Example: geomndp list

    Example: geomndp list --training
    """

    training: bool = False
    """Show sizes and training (network, parameters, steps) instead of metrics."""

    json: bool = False
    """Print JSON for machines."""


@dataclass(frozen=True)
class Train:
    """Train a model of an experiment, or on the functions of a table.

    The same command with the same --out resumes a training that was stopped, from its last
    checkpoint.

    Example: geomndp train regression1d/se --steps 19200 --out runs/se

    Example: geomndp train days.csv --function day --inputs hour --outputs temp --out runs/mine
    """

    name: Annotated[Positional[str], arg(metavar="EXPERIMENT-OR-TABLE")]
    """Experiment: "regression1d/se", "vector-fields/div-free", "cyclones/ibtracs", ...; or a file
    of many functions: .csv, .parquet or .nc."""
    out: Annotated[str, arg(help="Folder for log, checkpoints and the model.")] = "run"
    steps: int | None = None
    """Training steps; the experiment's own number by default. On a table: train one network for so
    many steps instead of choosing among models within --minutes."""
    minutes: float | None = None
    """On a table: time for the whole choice; by default until validation stops improving, at most
    5 minutes on a CPU."""
    function: str | None = None
    """On a table: column (.nc: dimension) that names the function of a row; by default
    "function"."""
    inputs: tuple[str, ...] = ()
    """On a table: columns of the inputs. Dates count as elapsed time, from the first of their
    function or, with --symmetry none, from the first of the table."""
    outputs: tuple[str, ...] = ()
    """On a table: columns of the outputs; by default all other columns of numbers. On the sphere
    the latitude and the longitude."""
    symmetry: str | None = None
    """On a table: under what the law of the functions does not change: "translation" of the inputs
    (default), "E(2)" or "E(3)" (also rotations and reflections), "SO(3)" or "axial" (of the Earth,
    at latitudes and longitudes), or "none"."""
    codomain: str | None = None
    """On a table: "real" (default), or "sphere" for a latitude and a longitude."""
    representations: tuple[str, ...] = ()
    """On a table: "scalar", "vector", ... of the outputs under E(2) or E(3)."""
    covariates: tuple[str, ...] = ()
    """On a table: columns that are known everywhere, such as elevation."""
    period: tuple[str, ...] = ()
    """On a table: periodic inputs with their period, as day=365."""
    noise: tuple[str, ...] = ()
    """On a table: variance of the noise of its values: a number, a column, or temp=temp_var."""
    groups: str | None = None
    """On a table: column whose values stay together when functions are held out."""
    ordered: bool = False
    """On a table: the labels of functions are in order of time, and the last are held out."""
    drop_missing: bool = False
    """On a table: drop rows that lack an output; by default only what is missing is left out."""
    simple_models: bool = False
    """On a table: also fit climatology, a GP and, where functions share their inputs, a shrunk
    covariance, and save them in --out (such as OUT/gp), to be compared with by geomndp evaluate."""
    method: str | None = None
    """On a table: "geomndp" (default), or with --steps a neural process such as "convcnp", "te-tnp"
    or "ar-convcnp"; see geomndp list."""
    batch_size: int | None = None
    """Functions per step; by default the experiment's own number, that of the plan on a table."""
    seed: int = 1
    """Seed of parameters and data."""
    start: str | None = None
    """Model (shipped name, path or folder) whose parameters training starts from; on a table its
    units are kept."""
    peak_rate: float | None = None
    """Highest learning rate; the experiment's own by default."""
    compute_dtype: str | None = None
    """"bfloat16" is faster on GPUs; parameters stay float32."""
    net: str = "{}"
    """Options of the network as JSON, such as '{"num_heads": 8}'."""
    data: str | None = None
    """For cyclones the archive of tracks, a file or folder, by default $GEOMNDP_IBTRACS; for winds
    the folder of weather fields, by default $GEOMNDP_DATA/weather."""
    split: int | None = None
    """Which split into storms to train on and to test on, for cyclones; 0 by default."""
    functions: int | None = None
    """Size of a finite training set, for vector fields; by default every function is fresh."""
    checkpoint_every: int = 2000
    """Steps between checkpoints, from which the same command resumes."""
    quiet: bool = False
    """No progress bar."""


@dataclass(frozen=True)
class Evaluate:
    """Evaluate a model on the fixed test functions of its experiment, or on those of a table.

    Example: geomndp evaluate regression1d/se --num 256

    Example: geomndp evaluate runs/mine test.csv --context 3 10

    Example: geomndp evaluate runs/mine test.csv --against runs/mine/gp --figure gains.png
    """

    name: Annotated[Positional[str], arg(metavar="MODEL")]
    """Shipped model, a path to one, or the folder of a training."""
    test_table: Annotated[Positional[str], arg(metavar="TABLE")] = ""
    """File of test functions (.csv, .parquet, .nc) with the model's columns."""
    function: str | None = None
    """On a table: column that names the function of a row; that of the training by default."""
    context: tuple[int, ...] = (10,)
    """On a table: numbers of random context points; all others, at most 60, are targets."""
    forecast: bool = False
    """On a table: also predict from the first 40 % of the points of a function."""
    tasks: str | None = None
    """On a table: JSON file of tasks: kind, function, context rows, target rows."""
    against: tuple[str, ...] = ()
    """On a table: further models on the same tasks, with paired differences in joint nats and
    their standard errors over functions: a GP that geomndp train saved, another training, ..."""
    figure: str | None = None
    """On a table with --against: file for a figure of the comparison."""
    num_samples: int = 64
    """On a table: samples per task, where a law has no closed form."""
    experiment: str | None = None
    """Experiment whose test functions are used, if the model is not named like one."""
    num: int | None = None
    """Test functions; 64 by default. On a table: at most so many tasks of a kind, evenly spread
    over functions; 200 by default."""
    region: str | None = None
    """1D: "in-range" (default) or "out-of-range" (inputs on [2, 6]); fields: "interpolation";
    cyclones: "interpolation" (default), "extrapolation" or "joint"; the sphere: "interpolation"
    (default), "uniform", "third", "triple" or "clusters"; winds: "stations-200" or "-50"."""
    route: str = "conditional"
    """How log p(targets | context) is computed: "conditional", one solve with the context held
    fixed, or "joint", log p(targets, context) - log p(context), two."""
    probes: int | None = None
    """Random probes of the divergence; by default exact (fields and tables: eight probes)."""
    seed: int = 1234
    """Seed of the test functions."""
    data: str | None = None
    """For cyclones the archive of tracks, a file or folder, by default $GEOMNDP_IBTRACS; for winds
    the folder of weather fields, by default $GEOMNDP_DATA/weather."""
    out: str | None = None
    """Folder that keeps finished blocks: re-running the command resumes there."""
    json: bool = False
    """Print JSON for machines."""


@dataclass(frozen=True)
class Reproduce:
    """Print and write a published table and its ablations beside what was measured of our models.

    Example: geomndp reproduce regression1d --out out
    """

    table: Annotated[Positional[str], arg(metavar="TABLE")]
    """Table: "regression1d", "vector-fields", "cyclones", "neural-processes", "own-data",
    "sphere-fields", "sphere-winds" or "flow-maps"."""
    out: str = "out"
    """Folder for table and figures."""
    num: int = 0
    """Measure anew on so many test functions (own-data: tasks of a kind); 0 prints what was
    measured when models shipped."""
    only: tuple[str, ...] = ()
    """Sets of "own-data" to measure anew, or of "neural-processes" such as gnp2020/se, with rows
    such as ConvCNP, or "neural" or "diffusion"; all by default."""
    minutes: float | None = None
    """Time of every fit of "own-data"; 4 by default."""
    results: str | None = None
    """JSON file of results; those that come with the package by default."""
    figures: bool = True
    """Draw the figures too."""
    data: str | None = None
    """Archive of tracks, a file or folder, for the maps of "cyclones", by default
    $GEOMNDP_IBTRACS. For "own-data" the folder of the sets, by default $GEOMNDP_DATA/functions; for
    "sphere-winds" that of the weather fields, by default $GEOMNDP_DATA/weather. For
    "neural-processes" the folder of trained models, by name; by default those that ship."""
