"""Receptive field: loss of the best linear estimate from points within distance r.

python benchmarks/reach.py

All points of a field are noised to time t, and the value at one of them near the centre of the grid
is predicted by the best linear estimate from those within r of it, or from all. The loss is the
difference of the mean squared errors times a^2 / sigma^2: in squares of u = sigma K grad log p,
both components together.
"""

import numpy as np
from _table import markdown

from geomndp.data import covariance, field_problem
from geomndp.noising import DEFAULT_SCHEDULE

REACHES = (2, 3, 4, 5, 6, 7, 8)
TIMES = (0.05, 0.15, 0.5, 0.65)


def error(
    matrix: np.ndarray, variance: float, kept: float, at: slice, visible: np.ndarray
) -> float:
    """Mean squared error of the value at a point, predicted from the noised values at `visible`."""
    noised = kept * matrix[np.ix_(visible, visible)] + (1 - kept) * variance * np.eye(len(visible))
    cross = np.sqrt(kept) * matrix[at][:, visible]
    return np.trace(matrix[at, at] - cross @ np.linalg.solve(noised, cross.T))


def losses(name: str, time: float) -> list[float]:
    """Loss at each reach."""
    problem = field_problem(name)
    matrix = covariance(problem.gp, problem.grid)
    if len(matrix) == len(problem.grid):  # independent copies
        matrix = np.kron(matrix, np.eye(2))
    middle = int(np.argmin(np.linalg.norm(problem.grid - [1.0, 0.5], axis=1)))
    distance = np.repeat(np.linalg.norm(problem.grid - problem.grid[middle], axis=1), 2)
    kept = float(np.exp(-DEFAULT_SCHEDULE.integral(np.float64(time))))
    arguments = (matrix, problem.variance, kept, slice(2 * middle, 2 * middle + 2))
    least = error(*arguments, np.arange(len(matrix)))
    errors = [error(*arguments, np.flatnonzero(distance <= reach)) for reach in REACHES]
    return [kept / (1 - kept) * (value - least) for value in errors]


def main() -> None:
    """Print one table per process."""
    for name in ("curl-free", "se"):
        rows = [[f"{time}", *(f"{loss:.5f}" for loss in losses(name, time))] for time in TIMES]
        print(f"\n{name}")
        print(markdown(["t", *(f"r = {reach}" for reach in REACHES)], rows))


if __name__ == "__main__":
    main()
