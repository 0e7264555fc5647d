"""Runs scripts one after the other in one process, so that imports and programs are shared.

Reads folders from its input, one a line; runs page.py in each, and answers with its output and,
where it failed, the traceback.
"""

import io
import json
import os
import runpy
import sys
import traceback
from contextlib import redirect_stdout

import jax
import matplotlib.pyplot as plt
from mlir_contexts import share_contexts
from shared_programs import share_programs


def run(folder: str) -> dict[str, str | None]:
    """Run the page of a folder there; what it changed for the process is set back."""
    os.chdir(folder)
    output, failure = io.StringIO(), None
    try:
        with redirect_stdout(output):
            runpy.run_path("page.py", run_name="__main__")
    except BaseException:
        failure = traceback.format_exc()
    finally:
        plt.close("all")
        jax.config.update("jax_enable_x64", False)
    return {"output": output.getvalue(), "failure": failure}


if __name__ == "__main__":
    jax.config.update("jax_enable_compilation_cache", False)  # as in conftest.py
    share_contexts()
    share_programs()
    for line in sys.stdin:
        print(json.dumps(run(line.strip())), flush=True)
