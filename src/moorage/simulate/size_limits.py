"""How many pods and nodes are held in memory; more are refused before they are made."""

from typing import Any, Final

from moorage.config.field_errors import InputError

MOST_PODS: Final = 2_000_000
"""The limit per workload; a pod takes a few kilobytes."""
MOST_NODES: Final = 200_000
"""The limit per template; Kubernetes itself supports up to 5,000."""
REPLICA_FIELDS: Final = {
    "deployment": "replicas",
    "replicaset": "replicas",
    "statefulset": "replicas",
    "replicationcontroller": "replicas",
    "job": "parallelism",
}
"""The field of a workload's spec that says how many pods it has, by its kind in lower case."""


def read_count(digits: str, most: int, what: str, words: str) -> int:
    """The number that an option asks for; `words` are the option as it was given."""
    if len(digits.lstrip("0")) > len(str(most)) or int(digits) > most:
        raise InputError([f"{words}: {too_many(most, what)}"])
    return int(digits)


def size_complaint(raw: dict[str, Any]) -> str:
    """The complaint about a workload that asks for more than MOST_PODS pods, or nothing."""
    field = REPLICA_FIELDS.get(str(raw.get("kind") or "").lower())
    spec = raw.get("spec")
    asked = spec.get(field) if field is not None and isinstance(spec, dict) else None
    if isinstance(asked, int) and asked > MOST_PODS:
        return f"spec.{field}: {asked}: {too_many(MOST_PODS, 'pods of a workload')}"
    return ""


def too_many(most: int, what: str) -> str:
    """The complaint about a number above a limit."""
    return f"too many: at most {most:,} {what} are held in memory"
