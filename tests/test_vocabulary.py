"""Words that the field does not use, and that must not come back into code, pages and messages."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
THINGS = (
    "batch|function|layer|location|octave|point|process|row|sample|step|storm|target|task|track"
)
AMOUNTS = (
    "evaluations?|functions?|matrix|ms|nats|one|points|probes?|samples|seconds|times?|tokens?|two"
)
WORDS = {
    r"\btold\b": "context and target",
    r"\bplaces\b": "locations, inputs or indices",
    r"\bwaves\b": "Fourier features",
    rf"\b({AMOUNTS}) an? ({THINGS})\b": '"per"',
    r"\bgoe?s? on where\b": "resumes",
    r"\bready for JSON\b": "JSON-serialisable",
    r"\brecipes?\b": "training plan, or experiment",
    r"\bwhat falls short\b": "known limitations",
    r"\bscore gaps?\b": "score error",
    r"\b(judged|scored)\b": "evaluated",
    r"\broomy\b": "with capacity",
}
# Other meanings of the words, and tables of old names.
ALLOWED = re.compile(
    r'decimal places|places (diffusion )?times|deprecated_names\(.*|"Recipe": moved,'
)
# Pages that name old words on purpose: renamed names, and decisions as they were taken.
APART = {"docs/decisions.md", "docs/reference/renamed.md"}


def found_in(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, word and better word of every use."""
    for number, line in enumerate(text.splitlines(), start=1):
        line = ALLOWED.sub("", line)
        for pattern, better in WORDS.items():
            if match := re.search(pattern, line, re.IGNORECASE):
                yield number, match[0], better


def files() -> list[Path]:
    """Sources, scripts, pages, README, changelog and Makefile."""
    paths = [
        ROOT / "README.md",
        ROOT / "CHANGELOG.md",
        ROOT / "Makefile",
        *ROOT.glob("docs/**/*.md"),
    ]
    for folder in ("src", "docs", "examples", "benchmarks", "tools"):
        paths += ROOT.glob(f"{folder}/**/*.py")
    return [path for path in paths if path.relative_to(ROOT).as_posix() not in APART]


def test_words_of_the_field():
    uses = [
        f"{path.relative_to(ROOT)}:{number}: {word!r}, better {better}"
        for path in files()
        for number, word, better in found_in(path.read_text(encoding="utf-8"))
    ]
    assert not uses, "\n" + "\n".join(uses)


@pytest.mark.parametrize(
    "line",
    [
        "30 points told from 20",
        "other places than the grid",
        "tokens with waves",
        "nats a target",
        "Times, one a point.",
        "takes 5 ms a step",
        "It goes on where it was.",
        "a recipe of training",
        "the score gap of a model",
        "how forecasts are judged",
        "roomy = 1",
    ],
)
def test_a_word_would_be_seen(line):
    assert list(found_in(line))


@pytest.mark.parametrize("line", ["to two decimal places", "replaces", "one step", "per point"])
def test_other_words_are_left_alone(line):
    assert not list(found_in(line))


def test_a_gap_is_a_key_of_results_only():
    """Of stored files, which keep it; in the code of experiments it is a score error."""
    key = re.compile(r"""["`]gaps?["`]|^\| gaps \|""")
    for path in ROOT.glob("src/geomndp/experiments/**/*.py"):
        lines = path.read_text(encoding="utf-8").splitlines()
        assert not [line for line in lines if re.search(r"\bgaps?\b", key.sub("", line))], path
