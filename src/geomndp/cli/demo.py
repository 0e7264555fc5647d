"""`geomndp demo`."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from geomndp.cli.commands import Demo
from geomndp.experiments.demo import run_demo


def demo(command: Demo) -> None:
    """Run the demonstration and print its table."""
    console = Console()
    with console.status("sampling and integrating..."):
        seen = run_demo(command.out, seed=command.seed, num_samples=command.num_samples)
    table = Table(title=f"Posterior at {seen.targets} inputs given 5 observations, exact score")
    for name in ("sampler", "score evaluations", "KL to the true posterior", "seconds"):
        table.add_column(name, justify="left" if name == "sampler" else "right")
    for row in seen.rows:
        table.add_row(row.sampler, str(row.evaluations), f"{row.kl:.4f}", f"{row.seconds:.1f}")
    console.print(table)
    gap = (seen.log_prob - seen.exact_log_prob) / seen.targets
    console.print(
        f"log p(targets | observed): model {seen.log_prob:.3f}, exact {seen.exact_log_prob:.3f}: "
        f"{gap:+.5f} nats per target (solver error {seen.solver_error / seen.targets:.1e})"
    )
    console.print(f"figure: {seen.figure}")
