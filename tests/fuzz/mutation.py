"""Raw objects changed here and there, and bytes that are no longer what they were."""

import copy
import random
from typing import Any, Final

from tests.fuzz.grammar import Grammar

Place = tuple[Any, Any]
"""A container and the key or index of something in it."""

WRONG: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 1.5, "", "x", [], {}, [None], [[]], {"": None}, 2**63, -(2**63)),
    *(10**30, 1e308, "NaN", "\x00", ["a", 1], {"a": {"b": {}}}, "9" * 40, "1e400"),
)


def mutated(raw: dict[str, Any], rng: random.Random, grammar: Grammar) -> dict[str, Any]:
    """A copy with one to four changes."""
    changed = copy.deepcopy(raw)
    for _ in range(rng.choice((1, 1, 2, 4))):
        _mutate(changed, rng, grammar)
    return changed


def mutated_bytes(text: bytes, rng: random.Random) -> bytes:
    """Bytes cut, repeated or flipped."""
    if not text:
        return text
    at, way = rng.randrange(len(text)), rng.randrange(4)
    if way == 0:
        return text[:at]
    if way == 1:
        return text[:at] + bytes([rng.randrange(256)]) + text[at + 1 :]
    if way == 2:
        return text[:at] + text[at : at + 20] * rng.choice((2, 50)) + text[at:]
    return text[:at] + rng.choice((b'"', b"{", b"[" * 2000, b"\xff", b"\\u0000", b",,")) + text[at:]


def _mutate(raw: dict[str, Any], rng: random.Random, grammar: Grammar) -> None:
    places = list(_places(raw))
    if not places:
        return
    within, key = rng.choice(places)
    way = rng.randrange(7)
    if way == 0:
        del within[key]
    elif way == 1:
        within[key] = copy.deepcopy(rng.choice(WRONG))
    elif way == 2:
        within[key] = _other_text(within[key], grammar)
    elif way == 3 and isinstance(within[key], list):
        within[key] = within[key] * rng.choice((2, 3, 30))
    elif way == 4 and isinstance(within, dict):
        within[grammar.text()] = within[key]
    elif way == 5:
        other, there = rng.choice(places)
        within[key] = copy.deepcopy(other[there])
    else:
        within[key] = grammar.quantity() if isinstance(within[key], str) else within[key]


def _other_text(value: Any, grammar: Grammar) -> Any:
    return grammar.text() if isinstance(value, str) else grammar.draw(type(value))


def _places(raw: Any, depth: int = 0) -> list[Place]:
    """Every place inside the data."""
    if depth > 20:
        return []
    if isinstance(raw, dict):
        here: list[Place] = [(raw, key) for key in raw]
    elif isinstance(raw, list):
        here = [(raw, index) for index in range(len(raw))]
    else:
        return []
    inner = (_places(within[key], depth + 1) for within, key in list(here))
    return here + [place for places in inner for place in places]
