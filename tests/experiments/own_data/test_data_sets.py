"""Sets are read as their files say, and what is missing is said in one sentence."""

import os
from pathlib import Path

import pytest

from geomndp.experiments.own_data import data_sets
from geomndp.experiments.own_data.data_sets import Facts, find_folder, read_set, set_names

from .helper import write_set

DATA = os.environ.get("GEOMNDP_DATA")


def test_a_set_is_described_by_its_files(tmp_path, monkeypatch):
    write_set(tmp_path, period=24.0, ordered=True)
    monkeypatch.setitem(data_sets.FACTS, "sines", Facts("translation", groups="_"))
    found = read_set(tmp_path, "sines")
    wanted = {"function": "function", "inputs": ("hour",), "outputs": ("level",)}
    wanted |= {"symmetry": "translation", "codomain": "real", "ordered": True, "groups": "group"}
    assert found.options == wanted | {"periodic": {"hour": 24.0}}
    assert len(found.training_table) == 9 * 6 and set(found.table.group) == {
        f"p{number}" for number in range(6)
    }
    assert len(found.tasks) == 6 and set(found.published) == {"gp", "linear_gaussian_gp"}


def test_what_is_not_known_is_the_default(tmp_path):
    options = read_set(write_set(tmp_path), "sines").options
    assert options["symmetry"] == "none" and "periodic" not in options and "groups" not in options


def test_missing_folders_sets_and_files(tmp_path, monkeypatch):
    monkeypatch.delenv("GEOMNDP_DATA", raising=False)
    with pytest.raises(ValueError, match="expected --data FOLDER with the sets, or"):
        find_folder(None)
    with pytest.raises(ValueError, match=r"expected sets with a meta\.json in"):
        find_folder(str(tmp_path))
    write_set(tmp_path / "functions")
    monkeypatch.setenv("GEOMNDP_DATA", str(tmp_path))
    assert find_folder(None) == tmp_path / "functions"
    with pytest.raises(ValueError, match="expected one of the sets sines, got 'growth'"):
        read_set(tmp_path / "functions", "growth")
    (tmp_path / "functions" / "sines" / "split.json").unlink()
    with pytest.raises(ValueError, match="expected a whole set in"):
        read_set(tmp_path / "functions", "sines")


@pytest.mark.skipif(DATA is None, reason="needs the functional data sets: set GEOMNDP_DATA")
def test_the_facts_are_of_sets_that_exist():
    folder = Path(str(DATA)) / "functions"
    if not folder.exists():
        pytest.skip(f"no functional data sets in {DATA}")
    assert set(data_sets.FACTS) <= set(set_names(folder))
    found = read_set(folder, "elnino")
    assert found.options["ordered"] and found.options["periodic"] == {"month": 12.0}
