"""IBTrACS, NOAA's archive of tropical cyclone best tracks: read, select, split.

Knapp et al. 2010 (doi:10.1175/2009BAMS2755.1), version 4 (doi:10.25921/82ty-9e16).
"""

from geomndp._deprecated import deprecated_names
from geomndp.data.ibtracs.archive import Archive, read, storms_dataset
from geomndp.data.ibtracs.locate import VARIABLE, address, fetch, locate
from geomndp.data.ibtracs.report import ReadProblem, ReadReport
from geomndp.data.ibtracs.select import Tracks, cyclones, select
from geomndp.data.ibtracs.split import SEEDS, Split, split_by_season, split_by_storm

__all__ = [
    "SEEDS",
    "VARIABLE",
    "Archive",
    "ReadProblem",
    "ReadReport",
    "Split",
    "Tracks",
    "address",
    "cyclones",
    "fetch",
    "locate",
    "read",
    "select",
    "split_by_season",
    "split_by_storm",
    "storms_dataset",
]

deprecated_names(__name__, {"Problem": "ReadProblem"})
