"""Random point designs of the sphere: Fibonacci points, uniform points, dense caps, clusters."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np

from geomndp import _validation
from geomndp._types import Float
from geomndp.data.point_designs import draw_clusters
from geomndp.data.sphere_fields import fibonacci

SPHERE_PATTERNS = ("fibonacci", "uniform", "cap", "clusters")
SMALLEST_CLUSTER, LARGEST_CLUSTER = 1e-3, 0.15  # radii in radians


def random_rotation(random: np.random.Generator) -> Float[np.ndarray, "3 3"]:
    """A uniformly random rotation matrix of space.

    Args:
        random: Source of randomness.
    """
    q, r = np.linalg.qr(random.normal(size=(3, 3)))
    q = q * np.sign(np.diag(r))  # uniform (Mezzadri 2007)
    return q * np.linalg.det(q)


def uniform_cap(points: int, share: float, random: np.random.Generator) -> Float[np.ndarray, "n 3"]:
    """Uniform points of a cap around a random centre.

    Args:
        points: How many points, n.
        share: Share of the sphere's area that the cap has, above 0 and at most 1.
        random: Source of randomness.

    Returns:
        Unit vectors (n, 3).
    """
    if not 0 < share <= 1:
        raise ValueError(f"expected a share of the sphere in (0, 1], got {share}")
    below = 2 * share * random.uniform(size=points)  # 1 - cos of the angle from the centre
    level, angle = np.sqrt(below * (2 - below)), random.uniform(0, 2 * math.pi, points)
    cap = np.stack([level * np.cos(angle), level * np.sin(angle), 1 - below], axis=1)
    return cap @ random_rotation(random).T


def sample_sphere_pattern(
    pattern: str, points: int, density: float, random: np.random.Generator
) -> Float[np.ndarray, "n 3"]:
    """Random points of the sphere.

    Args:
        pattern: "fibonacci", all around the sphere and turned at random; "uniform", all around;
            "cap", uniform in a cap of the given density; "clusters", uniform all around, a part
            moved into one to four caps with log-uniform radii, every third of which is one point.
        points: How many points, n.
        density: Points per steradian of a cap, not below n / 4 pi; other patterns ignore it.
        random: Source of randomness.

    Returns:
        Unit vectors (n, 3).

    Raises:
        ValueError: If there is no such pattern, or the points do not fit on the sphere.
    """
    _validation.one_of("pattern", pattern, SPHERE_PATTERNS)
    if pattern == "fibonacci":
        return fibonacci(points) @ random_rotation(random).T
    if pattern == "cap":
        _validation.positive(density=density)
        return uniform_cap(points, points / (4 * math.pi * density), random)
    x = uniform_cap(points, 1.0, random)
    if pattern == "uniform":
        return x
    low, high = math.log(SMALLEST_CLUSTER), math.log(LARGEST_CLUSTER)
    for members in draw_clusters(points, random):
        radius = 0.0 if random.uniform() < 1 / 3 else math.exp(random.uniform(low, high))
        near = x[members[0]] + random.normal(size=(len(members), 3)) * radius / math.sqrt(2)
        x[members] = near / np.linalg.norm(near, axis=1, keepdims=True)
    return x


def sphere_designs(
    points: int, densities: Mapping[str, tuple[float, float]], num: int, *, seed: int = 0
) -> list[np.ndarray]:
    """Point designs of the sphere of equal size, cycling through several patterns.

    Args:
        points: Points of each design.
        densities: Pattern, one of `SPHERE_PATTERNS`, to its smallest and largest density in points
            per steradian, log-uniform between them; used by caps.
        num: Number of designs.
        seed: Seed of all of them.

    Returns:
        Unit vectors of the designs, each of shape (points, 3).

    Example:
        >>> sets = sphere_designs(100, {"uniform": (8.0, 8.0), "cap": (8.0, 24.0)}, 10)
    """
    _validation.at_least(1, num=num, points=points)
    random = np.random.default_rng(seed)
    designs = []
    for pattern, (low, high) in itertools.islice(itertools.cycle(densities.items()), num):
        _validation.positive(low=low, high=high)
        density = math.exp(random.uniform(math.log(low), math.log(high)))
        designs.append(sample_sphere_pattern(pattern, points, density, random))
    return designs
