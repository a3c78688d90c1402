"""JSON patches (RFC 6902): the difference between two objects, and applying one."""

import copy
from typing import Any

Operation = dict[str, Any]
Patch = list[Operation]


def diff(old: Any, new: Any, path: str = "") -> Patch:
    """The operations that turn `old` into `new`; lists of different lengths are replaced whole."""
    if old == new:
        return []
    if isinstance(old, dict) and isinstance(new, dict):
        return _diff_objects(old, new, path)
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        pairs = enumerate(zip(old, new, strict=True))
        return [step for i, (a, b) in pairs for step in diff(a, b, f"{path}/{i}")]
    return [{"op": "replace", "path": path, "value": new}]


def _diff_objects(old: dict[str, Any], new: dict[str, Any], path: str) -> Patch:
    steps: Patch = []
    for key in old:
        if key not in new:
            steps.append({"op": "remove", "path": f"{path}/{_escaped(key)}"})
        else:
            steps += diff(old[key], new[key], f"{path}/{_escaped(key)}")
    for key in new:
        if key not in old:
            steps.append({"op": "add", "path": f"{path}/{_escaped(key)}", "value": new[key]})
    return steps


def apply(raw: Any, patch: Patch) -> Any:
    """A copy with the operations applied in order."""
    made = copy.deepcopy(raw)
    for step in patch:
        *parents, last = [_unescaped(part) for part in step["path"].split("/")[1:]]
        holder = made
        for part in parents:
            holder = holder[int(part)] if isinstance(holder, list) else holder[part]
        _carry_out(holder, last, step)
    return made


def _carry_out(holder: Any, last: str, step: Operation) -> None:
    key: Any = int(last) if isinstance(holder, list) and last != "-" else last
    if step["op"] == "remove":
        del holder[key]
    elif isinstance(holder, list) and step["op"] == "add":
        holder.insert(len(holder) if last == "-" else key, copy.deepcopy(step["value"]))
    else:
        holder[key] = copy.deepcopy(step["value"])


def _escaped(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _unescaped(part: str) -> str:
    return part.replace("~1", "/").replace("~0", "~")
