"""Mutation testing: mutants change one thing each, in a copy of the tree, and tests kill them."""

import ast
import sys
from pathlib import Path

import pytest

TOOLS = Path(__file__).parents[1] / "tools"
PROGRAM = '''"""Area."""

SIDE = field(default=7, static=True)

def area(a: int, b: float = 2.0) -> float:
    """Minus 3 < 4 in a text stays."""
    check(a)
    if not a > 0:
        raise ValueError(f"expected {1 + 1}")
    return np.where(b > -1.5, hypot(a, b), 0.0) * 2
'''
CHANGES = {
    ("7", "8"),
    ("check(a)", "pass"),
    ("not a > 0", "(a > 0)"),
    ("a > 0", "a >= 0"),
    ("a > 0", "a < 0"),
    ("0", "1"),
    ("b > -1.5", "b >= -1.5"),
    ("-1.5", "(1.5)"),
    ("1.5", repr(1.1 * 1.5)),
    ("hypot(a, b)", "hypot(b, a)"),
    ("np.where(b > -1.5, hypot(a, b), 0.0)", "(hypot(a, b))"),
    ("2.0", "2.2"),
    ("2", "3"),
}


@pytest.fixture
def tools(monkeypatch):
    monkeypatch.syspath_prepend(TOOLS)
    import mutants
    import mutations

    yield mutants, mutations
    for name in ("mutants", "mutations"):
        del sys.modules[name]


def test_each_mutation_changes_one_thing_that_is_computed(tools):
    made = tools[1].mutations(PROGRAM)
    found = {(mutation.was, mutation.now) for mutation in made}
    assert found >= CHANGES and ("True", "False") not in found
    assert not any("text" in was or "expected" in was or was == "1" for was, _ in found)
    for mutation in made:
        ast.parse(mutation.source)
        lines = zip(PROGRAM.splitlines(), mutation.source.splitlines(), strict=True)
        assert [i for i, (a, b) in enumerate(lines, start=1) if a != b] == [mutation.line]


def test_mutants_are_killed_in_a_copy_and_survivors_are_named(tools, tmp_path, monkeypatch, capsys):
    mutants, _ = tools
    root = tmp_path / "project"
    (root / "src/geomndp").mkdir(parents=True)
    (root / "tests").mkdir()
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    module, tests = root / "src/geomndp/area.py", root / "tests/test_area.py"
    (root / "src/geomndp/__init__.py").touch()
    module.write_text("SPARE = 3\n\n\ndef area(a, b):\n    return a * b\n")
    tests.write_text("from geomndp.area import area\n\ndef test():\n    assert area(2, 3) == 6\n")
    before = module.read_bytes()
    monkeypatch.setattr(mutants, "ROOT", root)
    monkeypatch.setattr(mutants, "TESTS", {"area.py": "test_area.py"})
    monkeypatch.setattr(sys, "argv", ["mutants.py", "--count", "5"])
    mutants.main()
    printed = capsys.readouterr().out
    assert "survived: area.py:1: '3' -> '4'" in printed and "'a * b'" not in printed
    assert printed.endswith("| area | 2 | 1 |\n| all | 2 | 1 (50%) |\n")
    assert module.read_bytes() == before
    tests.write_text("def test():\n    assert False\n")
    with pytest.raises(SystemExit, match="expected tests that pass without mutants"):
        mutants.main()


def test_the_modules_and_tests_of_the_core_exist(tools):
    mutants, mutations = tools
    for module, names in mutants.TESTS.items():
        path = mutants.ROOT / "src/geomndp" / module
        assert [ast.parse(made.source) for made in mutations.mutations(path.read_text())[::10]]
        assert all((mutants.ROOT / "tests" / name).exists() for name in names.split())
    drawn, same, other = (mutants.draw(60, seed, []) for seed in (0, 0, 1))
    assert drawn == same != other
    assert len({module for module, _ in drawn}) == len(mutants.TESTS)
