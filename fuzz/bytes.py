"""Damaged files: bits flipped, pieces cut, repeated or replaced."""

from __future__ import annotations

from random import Random

WORDS = (
    b"",
    b"\x00",
    b"\xff\xfe",
    b"nan",
    b"inf",
    b"1e999",
    b'"',
    b",",
    b"\n",
    b";",
    b"{}",
    b"\xe2\x98\x83",
)


def damaged(random: Random, content: bytes) -> bytes:
    """The content after one to four types of damage."""
    for _ in range(random.choice([1, 1, 2, 4])):
        content = random.choice(DAMAGES)(random, content)
    return content


def _flip(random: Random, content: bytes) -> bytes:
    changed = bytearray(content)
    for _ in range(random.choice([1, 1, 3, 10]) if content else 0):
        changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
    return bytes(changed)


def _span(random: Random, content: bytes) -> tuple[int, int]:
    start = random.randint(0, len(content))
    return start, min(len(content), start + random.choice([0, 1, 3, 8, 64, 1000]))


def _cut(random: Random, content: bytes) -> bytes:
    start, stop = _span(random, content)
    return content[:start] + content[stop:]


def _end(random: Random, content: bytes) -> bytes:
    return content[: random.randint(0, len(content))]


def _repeat(random: Random, content: bytes) -> bytes:
    start, stop = _span(random, content)
    return content[:stop] + content[start:stop] * random.choice([1, 3, 50]) + content[stop:]


def _insert(random: Random, content: bytes) -> bytes:
    start, stop = _span(random, content)
    return content[:start] + random.choice(WORDS) + content[stop:]


def _noise(random: Random, content: bytes) -> bytes:
    start, stop = _span(random, content)
    return content[:start] + random.randbytes(stop - start) + content[stop:]


DAMAGES = (_flip, _flip, _flip, _cut, _end, _repeat, _insert, _insert, _noise)
