"""`geomndp demo`."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table

from geomndp.cli.commands import Demo
from geomndp.experiments import registry


def demo(command: Demo) -> None:
    """Run the demonstration and print its numbers; progress goes to the standard error."""
    console, progress = Console(markup=False), Console(stderr=True, markup=False)
    with progress.status("loading...") as status:

        def log(text: str) -> None:
            status.update(f"{text}...")
            progress.print(text)

        result = registry.demo(
            command.out,
            seed=command.seed,
            steps=command.steps,
            num_samples=command.num_samples,
            log=log,
        )
    for section in result.sections:
        table = Table("", "found", "compare", title=section.title, title_justify="left", box=None)
        for number in section.numbers:
            table.add_row(*number)
        console.print(table)
    console.print(f"page with figures, after {result.seconds:.0f} s:")
    console.print(str(result.page), soft_wrap=True)
