"""Students of `gn.distil`: seconds of a request, and their laws beside the teacher's by the calls.

python benchmarks/flow_maps.py speed [--student STUDENT] [--repeats 5]
python benchmarks/flow_maps.py kl STUDENT [--name regression1d/se] [--num 10] [--samples 16384]
python benchmarks/flow_maps.py coverage STUDENT [--name regression1d/se] [--num 256]
python benchmarks/flow_maps.py energy STUDENT [--name regression1d/sawtooth] [--num 64]
python benchmarks/flow_maps.py physics STUDENT [--name vector-fields/div-free] [--num 4]
python benchmarks/flow_maps.py tracks STUDENT [--name cyclones/ibtracs] [--num 128]
"""

import argparse
import dataclasses
import json
import time

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp.data import FieldProblem
from geomndp.data.ibtracs import Split
from geomndp.distillation import as_student, compare_calls_on
from geomndp.evaluate.physics import difference_operators
from geomndp.experiments.cyclones import evaluate as cyclones, protocol
from geomndp.experiments.cyclones.training import read_split
from geomndp.experiments.regression1d.calibration import calibration
from geomndp.experiments.regression1d.samplers import sampler_rows
from geomndp.experiments.regression1d.training import problem_for
from geomndp.experiments.vector_fields.training import problem_for as field_problem_for
from geomndp.model import Model, load
from geomndp.nets import with_config
from geomndp.samplers import Amortised, FlowMap, adams

CALLS = (1, 2, 4, 8)
TEACHERS = {"teacher, adams(24)": adams(), "teacher, 50 steps": Amortised(50)}


def speed(args: argparse.Namespace) -> list[dict]:
    """Seconds of 64 samples at 50 targets given 10 points, compiled before: least and median.

    The time of a flow map does not depend on its parameters: without a student an untrained one of
    `regression1d/se` is measured. `program` is the compiled program alone, without the checks,
    units and transfers of `posterior.sample`.
    """
    given = args.student is not None
    student = load(args.student) if given else as_student(load("regression1d/se"), key=jr.key(0))
    xc = jr.uniform(jr.key(0), (10, 1), minval=-2, maxval=2)
    x = jnp.linspace(-2, 2, 50)[:, None]
    net = with_config(student.score.net, attention_backend="xla")
    plain = dataclasses.replace(student, score=dataclasses.replace(student.score, net=net))
    requests = {"Amortised(50)": (student, Amortised(50)), "Amortised(4)": (student, Amortised(4))}
    requests |= {"FlowMap(4), plain attention": (plain, FlowMap(4))}
    requests |= {f"FlowMap({n})": (student, FlowMap(n)) for n in CALLS}
    print(f"{jax.devices()[0].device_kind}, 64 samples, 50 targets, 10 observations")
    rows = []
    for name, (model, sampler) in requests.items():
        posterior = model.condition(xc, jnp.sin(3 * xc))
        problem = posterior.problem(x)
        program = jax.jit(lambda key, s=sampler, p=problem: s.draw(p, key=key, num_samples=64).y)
        request = lambda key, s=sampler, p=posterior: p.sample(  # noqa: E731
            x, key=key, num_samples=64, sampler=s
        )
        row = {"sampler": name} | _seconds("", request, args.repeats)
        rows.append(row | _seconds("program_", program, args.repeats))
        print(" ".join(f"{k} {v if k == 'sampler' else round(v, 5)}" for k, v in rows[-1].items()))
    return rows


def _seconds(prefix: str, function, repeats: int) -> dict:
    """Seconds and processor seconds of calls after the first: least and median."""
    wall, cpu = [], []
    for i in range(repeats + 1):
        start, spent = time.perf_counter(), time.process_time()
        function(jr.key(i)).block_until_ready()
        wall.append(time.perf_counter() - start)
        cpu.append(time.process_time() - spent)
    named = {"least": min(wall[1:]), "median": np.median(wall[1:]), "cpu": np.median(cpu[1:])}
    return {prefix + name: float(value) for name, value in named.items()}


def kl(args: argparse.Namespace) -> list[dict]:
    """Median KL(exact posterior || samples) of 20 targets given 5 observations over tasks."""
    samplers = {f"student, {n} calls": FlowMap(n) for n in CALLS}
    samplers |= {"student, 4 calls, noise 1": FlowMap(4, noise=1.0)}
    rows = []
    for path, chosen in {args.student: samplers, args.name: TEACHERS}.items():
        options = {"num": args.num, "num_samples": args.samples, "samplers": chosen, "workers": 4}
        rows += sampler_rows(load(path), problem_for(args.name), **options)
    for row in rows:
        tasks = [value for value in row["kl_tasks"] if value is not None]
        row["median"] = float(np.median(tasks)) if len(tasks) == args.num else None
        print(f"{row['sampler']:<28} evaluations {row['evaluations']:>3}  median {row['median']}")
    return rows


def _laws(args: argparse.Namespace) -> dict[str, tuple]:
    """Paths and samplers of the teacher and of the student."""
    teachers = {name: (args.name, sampler) for name, sampler in TEACHERS.items()}
    return teachers | {f"student, {n} calls": (args.student, FlowMap(n)) for n in CALLS}


def coverage(args: argparse.Namespace) -> list[dict]:
    """Share of test values in central intervals of 50 and 90 %, of samples given observations."""
    rows = []
    for name, (path, sampler) in _laws(args).items():
        options = {"num": args.num, "num_samples": args.samples, "sampler": sampler}
        measured = calibration(load(path), problem_for(args.name), **options)["model"]
        kept = {key: measured[key] for key in ("coverage50", "coverage90", "crps")}
        rows.append({"sampler": name} | kept)
        print(name, {k: [round(v, 4) for v in pair] for k, pair in kept.items()}, flush=True)
    return rows


def energy(args: argparse.Namespace) -> list[dict]:
    """Energy scores of samples of the test functions of a model, relative to the teacher's."""
    problem = (field_problem_for if args.name.startswith("vector") else problem_for)(args.name)
    tasks, sizes = problem.tasks(args.num, dtype="float32"), {"num_samples": args.samples}
    table = compare_calls_on(load(args.name), load(args.student), tasks, key=jr.key(3), **sizes)
    print(table)
    return table.rows


def physics(args: argparse.Namespace) -> list[dict]:
    """Root mean squares of divergence and curl of posterior fields, beside the exact posterior's.

    A field is the samples of its targets and the observed values.
    """
    problem = field_problem_for(args.name)
    tasks = problem.tasks(args.num, dtype="float32")
    exact = _exact_squares(problem, tasks)
    rows = []
    for name, (path, sampler) in _laws(args).items():
        squares = _field_squares(load(path), problem, tasks, sampler, args.samples)
        row = {key: [(values / exact[key]) ** 0.5, exact[key] ** 0.5] for key, values in squares}
        rows.append({"sampler": name} | row)
        print(name, {k: [round(float(u), 4) for u in v] for k, v in row.items()}, flush=True)
    return rows


def _field_squares(model: Model, problem: FieldProblem, tasks, sampler, num_samples: int):
    """Mean squares of every operator over fields and samples."""
    fields = []
    for i, (x, y, context) in enumerate(zip(tasks.x, tasks.y, tasks.context, strict=True)):
        seen = np.asarray(context) > 0
        posterior = model.condition(x[seen], y[seen])
        options = {"num_samples": num_samples, "sampler": sampler}
        full = np.repeat(np.asarray(y, float)[None], num_samples, axis=0)
        full[:, ~seen] = np.asarray(posterior.sample(x[~seen], key=jr.key(i), **options))
        fields.append(full.reshape(num_samples, -1))
    flat = np.concatenate(fields)
    operators = difference_operators(problem).items()
    return [(name, float(np.mean((flat @ matrix.T) ** 2))) for name, matrix in operators]


def _exact_squares(problem: FieldProblem, tasks) -> dict[str, float]:
    """The same of the exact posterior: squares of its mean, and variances."""
    operators, squares = difference_operators(problem), []
    for x, y, context in zip(tasks.x, tasks.y, tasks.context, strict=True):
        seen = np.asarray(context) > 0
        x, y = np.asarray(x, float), np.asarray(y, float)
        with jax.enable_x64(True):
            law = problem.gp.condition(jnp.asarray(x[seen]), jnp.asarray(y[seen]))
            mean, covariance = law.mean_and_covariance(jnp.asarray(x[~seen]))
        full, free = y.copy(), np.repeat(~seen, y.shape[1])
        full[~seen] = np.asarray(mean).reshape(-1, y.shape[1])
        squares.append(
            {
                name: np.mean((matrix @ full.reshape(-1)) ** 2)
                + np.mean(np.sum((matrix[:, free] @ np.asarray(covariance)) * matrix[:, free], 1))
                for name, matrix in operators.items()
            }
        )
    return {name: float(np.mean([row[name] for row in squares])) for name in operators}


def tracks(args: argparse.Namespace) -> list[dict]:
    """Energy scores (km) of tracks of storms held out, by task and sampler."""
    train, test = read_split(None, 0)
    parts, rows = Split(train, test.spread(args.num)), []
    laws = {"teacher, 100 steps": (args.name, Amortised(100))}
    laws |= {f"student, {n} calls": (args.student, FlowMap(n)) for n in CALLS}
    for name, (path, sampler) in laws.items():
        row: dict = {"sampler": name}
        for region in ("interpolation", "extrapolation"):
            options = {"key": jr.key(5), "sampler": sampler, "density": False}
            options |= {"num_samples": args.samples}
            measured = cyclones.measure(load(path), protocol.task(region), parts, **options)
            row[region] = {k: v for k, v in measured._asdict().items() if isinstance(v, float)}
        rows.append(row)
        print(row, flush=True)
    return rows


COMMANDS = {
    "kl": (kl, "regression1d/se", 10, 16384),
    "coverage": (coverage, "regression1d/se", 256, 128),
    "energy": (energy, "regression1d/sawtooth", 64, 64),
    "physics": (physics, "vector-fields/div-free", 4, 16),
    "tracks": (tracks, "cyclones/ibtracs", 128, 50),
}


def main() -> None:
    """Read the arguments, measure, and write results of the experiment `flow-maps` as JSON."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    of_speed = commands.add_parser("speed")
    of_speed.add_argument("--student")
    of_speed.add_argument("--repeats", type=int, default=5)
    of_speed.add_argument("--out")
    for command, (_, name, num, samples) in COMMANDS.items():
        arguments = commands.add_parser(command)
        arguments.add_argument("student")
        arguments.add_argument("--name", default=name)
        arguments.add_argument("--num", type=int, default=num)
        arguments.add_argument("--samples", type=int, default=samples)
        arguments.add_argument("--out")
    args = parser.parse_args()
    rows = speed(args) if args.command == "speed" else COMMANDS[args.command][0](args)
    if args.out is not None:
        with open(args.out, "w", encoding="utf-8") as file:
            kept = {k: v for k, v in vars(args).items() if k not in ("command", "student", "out")}
            kept |= {"device": jax.devices()[0].device_kind, "rows": rows}
            json.dump({args.command: {getattr(args, "name", "regression1d/se"): kept}}, file)


if __name__ == "__main__":
    main()
