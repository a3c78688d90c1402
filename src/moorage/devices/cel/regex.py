"""Patterns, matched by RE2 within the library: none takes for ever."""

from functools import cache, lru_cache
from typing import Any, Final

from moorage.devices.cel.library import library

_SHORT: Final = 1024
"""Answers about longer texts are not kept: expressions make texts of megabytes."""


def matches_regex(text: str, pattern: str) -> bool:
    """Whether a pattern is found in a text; ValueError for a malformed one."""
    return bool(_ask("text.matches(pattern)", text, pattern))


def find_all(text: str, pattern: str) -> list[str]:
    """Every match, from left to right; ValueError for a malformed pattern."""
    opening, closing = _letters_without(text)
    marked = _ask("regex.replace(text, pattern, marks)", text, pattern, opening + r"\0" + closing)
    return [part.partition(closing)[0] for part in marked.split(opening)[1:]]


def _letters_without(text: str) -> tuple[str, str]:
    """Two letters that a text does not have, to mark matches by."""
    private = (chr(code) for code in range(0xE000, 0xF900))
    unused = (letter for letter in private if letter not in text)
    return next(unused), next(unused)


def _ask(expression: str, text: str, pattern: str, marks: str = "") -> Any:
    is_short = len(text) + len(pattern) <= _SHORT
    return (_kept_answer if is_short else _answer)(expression, text, pattern, marks)


def _answer(expression: str, text: str, pattern: str, marks: str) -> Any:
    given = {"text": text, "pattern": pattern, "marks": marks}
    try:
        found = _program(expression).eval(data=given)
    except RuntimeError as error:
        raise ValueError(str(error)) from None
    if found.type() == library().Type.ERROR:
        raise ValueError(f"invalid regular expression {pattern!r}")
    return found.value()


_kept_answer = lru_cache(maxsize=4096)(_answer)


@cache
def _program(expression: str) -> Any:
    cel = library()
    configuration = cel.NewEnvConfigFromYaml("extensions: [{name: optional}, {name: regex}]")
    declared = dict.fromkeys(("text", "pattern", "marks"), cel.Type.STRING)
    return cel.NewEnv(config=configuration, variables=declared).compile(expression)
