"""Students of `gn.distil`: seconds of a request, and KL to the exact posterior by the calls.

python benchmarks/flow_maps.py speed [--student STUDENT] [--repeats 5]
python benchmarks/flow_maps.py kl STUDENT [--name regression1d/se] [--num 10] [--samples 16384]
"""

import argparse
import dataclasses
import json
import time

import jax
import jax.numpy as jnp
import jax.random as jr
import numpy as np

from geomndp.distillation import as_student
from geomndp.experiments.regression1d.samplers import sampler_rows
from geomndp.experiments.regression1d.training import problem_for
from geomndp.model import load
from geomndp.nets import with_config
from geomndp.samplers import Amortised, FlowMap

CALLS = (1, 2, 4, 8)


def speed(student_path: str | None, repeats: int) -> None:
    """Seconds of 64 samples at 50 targets given 10 points, compiled before: least and median.

    The time of a flow map does not depend on its parameters: without a student an untrained one of
    `regression1d/se` is measured.
    """
    if student_path is None:
        student = as_student(load("regression1d/se"), key=jr.key(0))
    else:
        student = load(student_path)
    xc = jr.uniform(jr.key(0), (10, 1), minval=-2, maxval=2)
    x = jnp.linspace(-2, 2, 50)[:, None]
    net = with_config(student.score.net, attention_backend="xla")
    plain = dataclasses.replace(student, score=dataclasses.replace(student.score, net=net))
    requests = {"Amortised(50)": (student, Amortised(50)), "Amortised(4)": (student, Amortised(4))}
    requests |= {"FlowMap(4), plain attention": (plain, FlowMap(4))}
    requests |= {f"FlowMap({n})": (student, FlowMap(n)) for n in CALLS}
    print(f"{jax.devices()[0].device_kind}, 64 samples, 50 targets, 10 observations")
    for name, (model, sampler) in requests.items():
        posterior, seconds = model.condition(xc, jnp.sin(3 * xc)), []
        for i in range(repeats + 1):
            start = time.perf_counter()
            posterior.sample(x, key=jr.key(i), num_samples=64, sampler=sampler).block_until_ready()
            seconds.append(time.perf_counter() - start)
        least, median = min(seconds[1:]), float(np.median(seconds[1:]))
        print(f"{name:<28} least {least:.4f} s, median {median:.4f} s, first {seconds[0]:.1f} s")


def kl(student_path: str, name: str, num: int, num_samples: int, out: str | None) -> None:
    """Median KL(exact posterior || samples) of 20 targets given 5 observations over tasks."""
    samplers = {f"student, {n} calls": FlowMap(n) for n in CALLS}
    samplers |= {f"student, {n} calls, noise 1": FlowMap(n, noise=1.0) for n in (2, 4)}
    laws = {student_path: samplers, name: {"teacher, 50 steps": Amortised(50)}}
    rows = []
    for path, chosen in laws.items():
        options = {"num": num, "num_samples": num_samples, "samplers": chosen, "workers": 2}
        rows += sampler_rows(load(path), problem_for(name), **options)
    for row in rows:
        tasks = [value for value in row["kl_tasks"] if value is not None]
        row["median"] = float(np.median(tasks)) if len(tasks) == num else None
        print(f"{row['sampler']:<28} evaluations {row['evaluations']:>3}  median {row['median']}")
    if out is not None:
        with open(out, "w", encoding="utf-8") as file:
            json.dump({"model": name, "num_samples": num_samples, "rows": rows}, file, indent=1)


def main() -> None:
    """Read the arguments and measure."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)
    of_speed, of_kl = commands.add_parser("speed"), commands.add_parser("kl")
    of_speed.add_argument("--student")
    of_speed.add_argument("--repeats", type=int, default=5)
    of_kl.add_argument("student")
    of_kl.add_argument("--name", default="regression1d/se")
    of_kl.add_argument("--num", type=int, default=10)
    of_kl.add_argument("--samples", type=int, default=16384)
    of_kl.add_argument("--out")
    args = parser.parse_args()
    if args.command == "speed":
        speed(args.student, args.repeats)
    else:
        kl(args.student, args.name, args.num, args.samples, args.out)


if __name__ == "__main__":
    main()
