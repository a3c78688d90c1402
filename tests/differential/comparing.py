"""In which fields two outcomes differ.

The meaning is that of the conformance vectors' own check, with one exception: kube-scheduler lists
scalar resources that are short in the order of a Go map, so that order is not compared.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tests.differential.words import Json

_ORDERED = frozenset(
    f"Insufficient {resource}" for resource in ("cpu", "memory", "ephemeral-storage")
)


class Difference(NamedTuple):
    """One field in which outcomes differ, and the plugin it is about where there is one."""

    field: str
    plugin: str
    where: str
    want: Any
    got: Any

    @property
    def kind(self) -> tuple[str, str]:
        return self.field, self.plugin


def differences(want: Json, got: Json) -> list[Difference]:
    """What differs; an error on both sides is no difference."""
    if want.get("error") or got.get("error"):
        if bool(want.get("error")) == bool(got.get("error")):
            return []
        text = _first_words(want.get("error") or got.get("error") or "")
        return [Difference("error", text, "", want.get("error"), got.get("error"))]
    return [
        *_plain(want, got),
        *_rejected(want.get("rejected") or {}, got.get("rejected") or {}),
        *_scores(want.get("scores") or {}, got.get("scores") or {}),
        *_preemption(want.get("preemption"), got.get("preemption") or {}),
        *_allocations(want.get("allocations") or {}, got.get("allocations") or {}),
    ]


def _first_words(error: str) -> str:
    return " ".join(re.sub(r"\"[^\"]*\"|[^A-Za-z :]", "", error).split()[:4])


def _plain(want: Json, got: Json) -> Iterator[Difference]:
    a, b = _verdict(want.get("preFilter")), _verdict(got.get("preFilter"))
    if a != b:
        yield Difference("preFilter", _plugin(a, b), "", a, b)
    if (want.get("message") or None) != (got.get("message") or None):
        yield Difference("message", "", "", want.get("message"), got.get("message"))
    for field in ("feasible", "best"):
        if sorted(want.get(field) or ()) != sorted(got.get(field) or ()):
            yield Difference(field, "", "", want.get(field), got.get(field))
    if (want.get("totals") or {}) != (got.get("totals") or {}):
        yield Difference("totals", "", "", want.get("totals"), got.get("totals"))


def _rejected(want: Mapping[str, Any], got: Mapping[str, Any]) -> Iterator[Difference]:
    for node in sorted(set(want) | set(got)):
        a, b = _verdict(want.get(node)), _verdict(got.get(node))
        if a != b:
            yield Difference("rejected", _plugin(a, b), node, a, b)


def _scores(want: Mapping[str, Any], got: Mapping[str, Any]) -> Iterator[Difference]:
    for node in sorted(set(want) | set(got)):
        a, b = want.get(node) or {}, got.get(node) or {}
        for plugin in sorted(set(a) | set(b)):
            if a.get(plugin, 0) != b.get(plugin, 0):
                yield Difference("scores", plugin, node, a.get(plugin, 0), b.get(plugin, 0))


def _preemption(want: Json | None, got: Json) -> Iterator[Difference]:
    if want is None:
        return
    plugin = "DefaultPreemption"
    if bool(want["eligible"]) != bool(got.get("eligible")):
        yield Difference("eligible", plugin, "", want["eligible"], got.get("eligible"))
    a, b = want.get("candidates") or {}, got.get("candidates") or {}
    for node in sorted(set(a) | set(b)):
        if a.get(node) != b.get(node):
            yield Difference("candidates", plugin, node, a.get(node), b.get(node))
    chosen = set(got.get("chosen") or ())
    if bool(want["chosen"]) != bool(chosen) or not chosen <= set(want["chosen"]):
        yield Difference("chosen", plugin, "", want["chosen"], sorted(chosen))


def _allocations(want: Mapping[str, Any], got: Mapping[str, Any]) -> Iterator[Difference]:
    """Down to the device; an empty list and none are the same."""
    for node in sorted(set(want) | set(got)):
        a, b = _without_empty(want.get(node) or {}), _without_empty(got.get(node) or {})
        if a != b:
            yield Difference("allocations", "DynamicResources", node, a, b)


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _without_empty(each) for key, each in value.items()}
        return {key: each for key, each in kept.items() if each not in (None, [], {}, "")}
    return [_without_empty(each) for each in value] if isinstance(value, list) else value


def _verdict(verdict: Json | None) -> tuple[str, str, tuple[str, ...]] | None:
    if not verdict:
        return None
    reasons = tuple(_in_order(verdict.get("reasons") or ()))
    return verdict.get("code") or "", verdict.get("plugin") or "", reasons


def _in_order(reasons: Iterable[str]) -> list[str]:
    """The reasons, scalar resources last and sorted."""
    listed = list(reasons)
    scalar = [r for r in listed if r.startswith("Insufficient ") and r not in _ORDERED]
    return [r for r in listed if r not in scalar] + sorted(scalar)


def _plugin(*verdicts: tuple[str, str, tuple[str, ...]] | None) -> str:
    return next((verdict[1] for verdict in verdicts if verdict is not None), "")
