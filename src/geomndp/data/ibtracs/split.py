"""Train/test splits: by storm and seed, or by season."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from geomndp import _validation
from geomndp.data.ibtracs.select import Tracks

SEEDS = (0, 1, 2, 3, 4)
"""The five splits of the paper's table."""


class Split(NamedTuple):
    """Tracks to learn from and tracks held out."""

    train: Tracks
    test: Tracks


def _check_share(share: float, tracks: Tracks) -> None:
    if not 0 < share < 1:
        raise ValueError(f"expected 0 < test_share < 1, got {share}")
    _validation.at_least(2, storms=len(tracks))


def split_by_storm(tracks: Tracks, seed: int, *, test_share: float = 0.1) -> Split:
    """Hold out a random part of the storms.

    Storms are put in the order of their identifiers before they are shuffled, so that the split
    does not depend on the order of the file; both parts keep the order of `tracks`.

    Args:
        tracks: All tracks.
        seed: Seed of the shuffle.
        test_share: Share of the storms to hold out.

    Returns:
        Training and test tracks.

    Raises:
        ValueError: If there are fewer than two storms, or not 0 < test_share < 1.
    """
    _check_share(test_share, tracks)
    order = np.argsort(tracks.sid, kind="stable")
    shuffled = order[np.random.default_rng(seed).permutation(len(order))]
    held_out = np.zeros(len(tracks), dtype=bool)
    held_out[shuffled[: max(1, round(test_share * len(tracks)))]] = True
    return Split(tracks.take(~held_out), tracks.take(held_out))


def split_by_season(
    tracks: Tracks, first_season: int | None = None, *, test_share: float = 0.1
) -> Split:
    """Hold out the latest seasons.

    Args:
        tracks: All tracks.
        first_season: First season to hold out; by default the latest that leave `test_share`.
        test_share: Share of the storms to hold out.

    Returns:
        Training and test tracks.

    Raises:
        ValueError: If one of the two would be empty.
    """
    _check_share(test_share, tracks)
    if first_season is None:
        newest_first = np.sort(tracks.season)[::-1]
        first_season = int(newest_first[max(1, round(test_share * len(tracks))) - 1])
    held_out = tracks.season >= first_season
    if not 0 < held_out.sum() < len(tracks):
        seasons = f"{tracks.season.min()} to {tracks.season.max()}"
        raise ValueError(f"expected a first season within {seasons}, got {first_season}")
    return Split(tracks.take(~held_out), tracks.take(held_out))
