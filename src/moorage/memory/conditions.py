"""Finds and sets conditions in an object's status, one of each type."""

from collections.abc import Iterable
from typing import Any

from moorage.watch.api_server import Raw


def find_condition(status: Raw, type: str) -> Raw | None:
    """The condition of a type."""
    conditions: Iterable[Raw] = status.get("conditions") or ()
    return next((condition for condition in conditions if condition.get("type") == type), None)


def set_condition(status: Raw, now: str, type: str, value: str, **details: Any) -> Raw:
    """The status with a condition set; its transition time moves only when its value does."""
    condition = {"type": type, "status": value, "lastTransitionTime": now, **details}
    old = find_condition(status, type)
    if old is None:
        return {**status, "conditions": [*(status.get("conditions") or ()), condition]}
    if old.get("status") == value:
        condition["lastTransitionTime"] = old.get("lastTransitionTime", now)
    replaced = [condition if each is old else each for each in status["conditions"]]
    return {**status, "conditions": replaced}
