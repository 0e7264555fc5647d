"""Import first: one thread per process for XLA and its LAPACK (see docs/decisions.md)."""

import os

for variable in ("NPROC", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ.setdefault(variable, "1")
