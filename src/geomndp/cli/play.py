"""`geomndp play`: a local page with a model at hand."""

from __future__ import annotations

import webbrowser
from typing import Any

from geomndp._progress import busy
from geomndp.cli.commands import Play
from geomndp.play import Server, Session, open_session
from geomndp.play.exchange import read_table


def play(command: Play, table: Any = None) -> None:
    """Serve the playground of a model until Ctrl-C."""
    with busy(f"loading {command.name}"):
        session = begin(command, table)
        server = Server(session, command.port)
    print(f"playground of {command.name}: {server.address}", flush=True)
    print("The address holds a secret; Ctrl-C ends the playground.", flush=True)
    if command.browser:
        webbrowser.open(server.address)
    server.run()


def begin(command: Play, table: Any = None) -> Session:
    """Session of the command's model, with its observations, if any."""
    start: dict[str, Any] = {"seed": command.seed}
    if command.num_samples is not None:
        start["samples"] = command.num_samples
    session = open_session(command.name, start)
    if table is not None:
        session.begin_with(read_table(session.scene, table))
    return session
