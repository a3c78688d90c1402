"""Where and how raw data does not match a type: msgspec's messages as a path and a problem."""

import re
from collections.abc import Iterator
from typing import Any, Final, NamedTuple

_MESSAGE: Final = re.compile(r"(.*?)(?: - at (`key` in )?`(.*)`)?", re.DOTALL)
_EXPECTED_GOT: Final = re.compile(r"Expected `(.+?)`, got `(.+?)`")
_STEP: Final = re.compile(r"\.([^.\[]+)|\[(\d+)\]|\[(\.\.\.)\]")

_WORDS: Final = {
    "str": "a string",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "nothing",
    "datetime": "a time",
}
_TYPES: Final[dict[str, tuple[type, ...]]] = {
    "str": (str,),
    "int": (int,),
    "float": (float,),
    "bool": (bool,),
    "object": (dict,),
    "array": (list, tuple),
    "null": (type(None),),
}


class Mismatch(NamedTuple):
    """A path inside the data and what is wrong there."""

    path: str
    problem: str


def explain_mismatch(message: str, raw: Any, *, secret: bool = False) -> Mismatch:
    """Turn msgspec's message about the data into a path and a problem.

    No value of `secret` data is shown.
    """
    match = _MESSAGE.fullmatch(message)
    problem, in_key, place = match.groups() if match else (message, None, None)
    mismatch = _EXPECTED_GOT.match(problem)
    got = mismatch.group(2) if mismatch else ""
    found = next(_descend(_steps(place or ""), raw, "", got), None)
    path, value = found if found is not None else ((place or "").removeprefix("$."), None)
    if in_key:
        return Mismatch(path, "expected every key to be a string: put keys in quotes")
    shown = _WORDS.get(got, got) if secret else _literal(value)
    return Mismatch(path.removeprefix("."), _in_words(problem, mismatch, shown))


def _literal(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _in_words(problem: str, mismatch: re.Match[str] | None, shown: str) -> str:
    if mismatch is None:
        return problem[:1].lower() + problem[1:]
    expected, got = mismatch.groups()
    words = (word for word in expected.split(" | ") if word != "null")
    wanted = " or ".join(_WORDS.get(word, word) for word in words)
    if expected.startswith("str") and got in ("int", "float", "bool"):
        return f"expected {wanted}, got {shown}: put it in quotes"
    return f"expected {wanted}, got {_WORDS.get(got, got)}"


def _steps(place: str) -> list[tuple[str, str, str]]:
    return _STEP.findall(place)


def _descend(
    steps: list[tuple[str, str, str]], raw: Any, path: str, got: str
) -> Iterator[tuple[str, Any]]:
    """Yield the places the steps lead to; if msgspec omits a key, all places that hold `got`."""
    if not steps:
        if not got or _is_a(raw, got):
            yield path, raw
        return
    (name, index, anywhere), rest = steps[0], steps[1:]
    if anywhere and isinstance(raw, dict):
        for key, value in raw.items():
            yield from _descend(rest, value, f"{path}.{key}", got)
    elif name and isinstance(raw, dict):
        yield from _descend(rest, raw.get(name), f"{path}.{name}", got)
    elif index and isinstance(raw, list | tuple) and int(index) < len(raw):
        yield from _descend(rest, raw[int(index)], f"{path}[{index}]", got)


def _is_a(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "bool"
    return isinstance(value, _TYPES.get(name, (object,)))
