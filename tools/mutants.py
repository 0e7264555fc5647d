"""Mutation testing of the numerical core: which small mistakes would no test notice?

    python tools/mutants.py --count 60 --seed 0 [--only noising summaries]

Mutants are drawn at random, from every module alike, and written into a temporary copy of the tree,
never into the checkout. A mutant is killed if the narrow tests of its module fail or take much more
processor time than without it. Printed are survivors, as they come, and the share killed.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from mutations import Mutation, mutations

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 60.0  # of the clock over the processor time that tests may take, on a busy machine
HEAT = "geometry/test_heat.py geometry/test_manifolds.py"
STEPS = "samplers/test_code_follows_law.py samplers/test_calls.py"
TESTS = {  # module: the tests that should kill its mutants
    "linalg/diagonal.py": "test_linalg.py test_linalg_masks.py",
    "linalg/factors.py": "test_linalg_factors.py",
    "linalg/gaussian.py": "test_linalg_gaussian.py",
    "linalg/matrix.py": "test_linalg.py test_linalg_masks.py test_linalg_rounding.py",
    "geometry/divergence.py": "geometry/test_divergence.py likelihood/test_divergence.py",
    "geometry/so3.py": "geometry/test_manifolds.py",
    "geometry/sphere.py": "geometry/test_manifolds.py",
    "geometry/product.py": "geometry/test_manifolds.py",
    "geometry/brownian.py": HEAT,
    "geometry/heat/densities.py": HEAT,
    "geometry/heat/kernel.py": HEAT,
    "geometry/heat/radial.py": HEAT,
    "geometry/heat/radial_inverse_cdf.py": HEAT,
    "kernels/base.py": "kernels",
    "kernels/sphere/spectral.py": "kernels/test_zonal.py kernels/test_sphere_fields.py",
    "kernels/sphere/tangent.py": "kernels/test_sphere_fields.py",
    "kernels/sphere/zonal.py": "kernels/test_zonal.py",
    "kernels/stationary.py": "kernels",
    "kernels/tensor.py": "kernels equivariance/test_actions.py",
    "kernels/vector.py": "kernels",
    "gp.py": "test_gp.py test_gp_requests.py",
    "noising/brownian.py": "noising/test_brownian.py",
    "noising/ornstein_uhlenbeck.py": "noising/test_ornstein_uhlenbeck.py noising/test_refusals.py",
    "noising/schedule.py": "noising/test_schedule.py noising/test_time_grids.py",
    "nets/cell_list.py": "nets/test_graph.py",
    "nets/graph.py": "nets/test_graph.py",
    "nets/steerable_2d/message_passing.py": "nets/test_message_passing.py",
    "score/corrected.py": "score/test_corrected.py score/test_corrected_refusals.py",
    "score/exact.py": "score/test_exact.py score/test_exact_context.py",
    "score/grid_gaussian.py": "score/test_grid_gaussian.py",
    "score/heat_mixture.py": "score/test_heat_mixture.py",
    "score/network.py": "score/test_parametrisations.py",
    "score/parametrisations.py": "score/test_parametrisations.py",
    "solve/dynamics.py": "solve/test_dynamics.py",
    "solve/exponential_adams.py": "solve/test_exponential_adams.py",
    "solve/integrators.py": "solve/test_integrators.py",
    "solve/reverse_steps.py": "solve/test_reverse_steps.py solve/test_ancestral.py",
    "likelihood/flow.py": "likelihood/test_flow.py likelihood/test_errors.py",
    "likelihood/flow_map.py": "likelihood/test_flow_map.py",
    "likelihood/stepwise.py": "likelihood/test_flow.py likelihood/test_errors.py",
    "samplers/amortised.py": STEPS,
    "samplers/guidance.py": f"samplers/test_guidance.py {STEPS}",
    "samplers/conditional_langevin.py": f"samplers/test_derivations.py {STEPS}",
    "samplers/langevin.py": STEPS,
    "samplers/repaint.py": f"samplers/test_evaluations.py {STEPS}",
    "samplers/start.py": "samplers/test_start.py",
    "samplers/twisted_smc.py": "samplers/test_twisted_smc.py",
    "summaries/moments.py": "summaries",
    "summaries/tracks.py": "summaries",
    "summaries/metrics.py": "summaries",
}


def processor_seconds() -> float:
    """Of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


class Copy:
    """A temporary copy of the tree in which one mutant at a time is tested."""

    def __init__(self, folder: Path):
        self.folder = folder
        for name in ("src", "tests"):
            ignore = shutil.ignore_patterns("__pycache__", "*.safetensors")
            shutil.copytree(ROOT / name, folder / name, ignore=ignore)
        shutil.copy(ROOT / "pyproject.toml", folder)
        # What a mutant does not change need not be compiled again.
        cache = {"JAX_COMPILATION_CACHE_DIR": str(folder / "cache")}
        cache |= {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
        self.environment = {**os.environ, **cache, "PYTHONPATH": str(folder / "src")}
        self.seconds: dict[str, float] = {}

    def passes(self, tests: str, limit: float) -> bool:
        """Whether the tests pass in so many seconds of the processor."""
        paths = [f"tests/{name}" for name in tests.split()]
        options = ["-x", "-q", "-n0", "-p", "no:cacheprovider", "--no-header", "--tb=no"]
        command = [sys.executable, "-B", "-m", "pytest", *options, *paths]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        bound = (int(limit), int(limit))
        process = subprocess.Popen(command, cwd=self.folder, env=self.environment, **quiet)
        # Not before it starts: a fork is what JAX warns of, where it is loaded.
        resource.prlimit(process.pid, resource.RLIMIT_CPU, bound)
        try:
            return process.wait(PATIENCE * limit) == 0
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            return False

    def limit(self, tests: str) -> float:
        """Seconds after which a mutant of a module with these tests counts as killed."""
        if tests not in self.seconds:
            start = processor_seconds()
            if not self.passes(tests, 1800):
                raise SystemExit(f"expected tests that pass without mutants, got failures: {tests}")
            self.seconds[tests] = processor_seconds() - start
        return 60 + 5 * self.seconds[tests]

    def survives(self, module: str, mutation: Mutation) -> bool:
        """Whether no test of a module notices a mutation of it."""
        path, limit = self.folder / "src/geomndp" / module, self.limit(TESTS[module])
        original = path.read_text(encoding="utf-8")
        path.write_text(mutation.source, encoding="utf-8")
        try:
            return self.passes(TESTS[module], limit)
        finally:
            path.write_text(original, encoding="utf-8")


def draw(count: int, seed: int, only: list[str]) -> list[tuple[str, Mutation]]:
    """Mutants of all modules in turn, at random in each."""
    rng = random.Random(seed)
    piles = {}
    for module in TESTS:
        if not only or any(module.startswith(name) for name in only):
            source = (ROOT / "src/geomndp" / module).read_text(encoding="utf-8")
            piles[module] = mutations(source)
            rng.shuffle(piles[module])
    modules = list(piles)
    rng.shuffle(modules)
    rounds = range(max(map(len, piles.values()), default=0))
    turns = [
        (module, piles[module][i]) for i in rounds for module in modules if i < len(piles[module])
    ]
    return turns[:count]


def main() -> None:
    """Draw mutants, test each, report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=60, help="number of mutants")
    parser.add_argument("--seed", type=int, default=0, help="of the choice among all mutants")
    parser.add_argument("--only", nargs="*", default=[], help="modules that begin with these names")
    arguments = parser.parse_args()
    num_mutants, killed = Counter(), Counter()
    drawn = sorted(draw(arguments.count, arguments.seed, arguments.only), key=lambda m: m[0])
    with tempfile.TemporaryDirectory() as folder:
        copy = Copy(Path(folder))
        for module, mutation in drawn:
            layer = module.partition("/")[0].removesuffix(".py")
            num_mutants[layer] += 1
            if copy.survives(module, mutation):
                change = f"{mutation.was!r} -> {mutation.now!r}"
                print(f"survived: {module}:{mutation.line}: {change}", flush=True)
            else:
                killed[layer] += 1
                print(
                    f"killed {killed.total()} of {num_mutants.total()}", file=sys.stderr, flush=True
                )
    print("\n| layer | mutants | killed |\n|---|---|---|")
    for layer in num_mutants:
        print(f"| {layer} | {num_mutants[layer]} | {killed[layer]} |")
    share = killed.total() / max(num_mutants.total(), 1)
    print(f"| all | {num_mutants.total()} | {killed.total()} ({share:.0%}) |")


if __name__ == "__main__":
    main()
