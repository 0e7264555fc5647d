"""What the fit of a simple Gaussian model returns."""

from __future__ import annotations

from typing import Any, NamedTuple

from geomndp.gp import GP


class Candidate(NamedTuple):
    """One form of a pooled process.

    Attributes:
        kernel: A stationary kernel or the sum of two, such as "SE+M32": of SE, M12, M32, M52.
        mean: "empirical", by input, or "constant".
        amplitude: "constant"; "varying" with the input, noise included; or "signal", the same of
            functions with constant noise.
    """

    kernel: str
    mean: str = "empirical"
    amplitude: str = "constant"

    def __str__(self) -> str:
        words = {"constant": "", "varying": ", varying amplitude", "signal": ", varying signal"}
        return f"{self.kernel}, {self.mean} mean{words[self.amplitude]}"


class GaussianFit(NamedTuple):
    """A fitted simple model, in the units of the values that it was fitted to.

    Attributes:
        process: The process; None where there is none, with the reason in `note`.
        name: What was chosen.
        nats: Log-density per value of held-out functions; of the functions themselves, less one
            nat per parameter, where none were held out.
        candidates: Name and nats of everything that was tried.
        seconds: Time of the fit.
        note: What a user should know.
        state: What a refit starts from.
        dof: Degrees of freedom of a random scale per function that suits the held-out functions
            better than none, see `scale_mixture`.
    """

    process: GP | None
    name: str
    nats: float
    candidates: tuple[tuple[str, float], ...] = ()
    seconds: float = 0.0
    note: str = ""
    state: Any = None
    dof: float | None = None
