"""The part of Go's text/template that upstream's manifests use.

Fields of the environment, integers and strings, calls of the functions below, parentheses, pipes,
variables, and `if`, `else`, `range` and `end`. Anything else raises TemplateError.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, Final

ACTION: Final = re.compile(r"\{\{(-?)\s*(.*?)\s*(-?)\}\}", re.DOTALL)
TOKEN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|:=|[()|]|[^\s()|]+')
Env = dict[str, Any]


class TemplateError(Exception):
    """A construct that is not known here."""


def _whole(value: Any) -> int:
    return int(float(value)) if isinstance(value, str) else int(value)


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "AddInt": lambda a, b: _whole(a) + _whole(b),
    "SubtractInt": lambda a, b: _whole(a) - _whole(b),
    "MultiplyInt": lambda a, b: _whole(a) * _whole(b),
    "DivideInt": lambda a, b: _whole(a) // _whole(b),
    "AddFloat": lambda a, b: float(a) + float(b),
    "SubtractFloat": lambda a, b: float(a) - float(b),
    "MultiplyFloat": lambda a, b: float(a) * float(b),
    "DivideFloat": lambda a, b: float(a) / float(b),
    "Mod": lambda a, b: _whole(a) % _whole(b),
    "Int": _whole,
    "JSON": lambda value: json.dumps(value),
    "eq": lambda a, b: a == b,
    "ge": lambda a, b: a >= b,
    "or": lambda *values: next((value for value in values if value), values[-1]),
}


class Template:
    """A parsed template; `render` fills it in."""

    def __init__(self, text: str) -> None:
        self._parts = list(_split(text))

    @property
    def is_static(self) -> bool:
        """Whether there is nothing to fill in."""
        return len(self._parts) == 1

    def render(self, env: Env) -> str:
        out: list[str] = []
        end = self._block(0, {**env}, env, out)
        if end != len(self._parts):
            raise TemplateError("an end too many")
        return "".join(out)

    def _block(self, at: int, env: Env, dot: Any, out: list[str] | None) -> int:
        """Write parts up to the matching `else` or `end`, or nothing where `out` is None."""
        while at < len(self._parts):
            text, action = self._parts[at]
            if action is None:
                if out is not None:
                    out.append(text)
            elif action in ("end", "else"):
                return at
            elif action.startswith(("if ", "range ")):
                at = self._control(at, action, env, dot, out)
            elif out is not None:
                self._simple(action, env, dot, out)
            at += 1
        return at

    def _control(self, at: int, action: str, env: Env, dot: Any, out: list[str] | None) -> int:
        word, _, rest = action.partition(" ")
        rounds = self._rounds(word, rest, env, dot) if out is not None else []
        end = self._block(at + 1, env, dot, None)
        for name, value, inner in rounds:
            self._block(at + 1, {**env, **({name: value} if name else {})}, inner, out)
        if end < len(self._parts) and self._parts[end][1] == "else":
            end = self._block(end + 1, env, dot, None if rounds or out is None else out)
        if end >= len(self._parts):
            raise TemplateError(f"no end of {action!r}")
        return end

    def _rounds(self, word: str, rest: str, env: Env, dot: Any) -> list[tuple[str, Any, Any]]:
        """How often a body is written: the variable, its value and the dot of each time."""
        if word == "if":
            return [("", None, dot)] if evaluate(rest, env, dot) else []
        name, _, expression = rest.rpartition(":=")
        count = _whole(evaluate(expression, env, dot))
        return [(name.strip(), index, index) for index in range(count)]

    def _simple(self, action: str, env: Env, dot: Any, out: list[str]) -> None:
        if action.startswith("/*"):
            return
        name, sign, expression = action.partition(":=")
        if sign:
            env[name.strip()] = evaluate(expression, env, dot)
        else:
            out.append(_text(evaluate(action, env, dot)))


def _split(text: str) -> Iterator[tuple[str, str | None]]:
    at, trim = 0, False
    for found in ACTION.finditer(text):
        before = text[at : found.start()]
        before = before.lstrip() if trim else before
        yield before.rstrip() if found[1] else before, None
        yield "", found[2]
        at, trim = found.end(), bool(found[3])
    yield text[at:].lstrip() if trim else text[at:], None


def evaluate(expression: str, env: Env, dot: Any) -> Any:
    """What a pipeline is worth."""
    tokens = TOKEN.findall(expression)
    value = _pipeline(tokens, env, dot)
    if tokens:
        raise TemplateError(f"cannot read {expression!r}")
    return value


def _pipeline(tokens: list[str], env: Env, dot: Any) -> Any:
    value = _command(tokens, env, dot, [])
    while tokens and tokens[0] == "|":
        tokens.pop(0)
        value = _command(tokens, env, dot, [value])
    return value


def _command(tokens: list[str], env: Env, dot: Any, piped: list[Any]) -> Any:
    words = []
    while tokens and tokens[0] not in ")|":
        words.append(_operand(tokens, env, dot))
    if words and callable(words[0]):
        return words[0](*words[1:], *piped)
    if len(words) != 1:
        raise TemplateError(f"not a call: {words}")
    return words[0]


def _operand(tokens: list[str], env: Env, dot: Any) -> Any:
    token = tokens.pop(0)
    if token == "(":
        value = _pipeline(tokens, env, dot)
        if not tokens or tokens.pop(0) != ")":
            raise TemplateError("a parenthesis is not closed")
        return value
    if token in FUNCTIONS:
        return FUNCTIONS[token]
    if token == ".":
        return dot
    if token.startswith("$"):
        return env[token]
    if token.startswith("."):
        return env.get(token[1:])
    if token == "nil":
        return None
    try:
        return json.loads(token)
    except ValueError:
        raise TemplateError(f"not known: {token}") from None


def _text(value: Any) -> str:
    if value is None:
        return "<no value>"
    return str(value).lower() if isinstance(value, bool) else str(value)
