"""How much of a cluster is held in memory: what is beyond that is refused before it is made."""

from typing import Any, Final

from moorage.config.field_errors import InputError

MOST_PODS: Final = 2_000_000
"""Of one workload; a pod takes a few kilobytes."""
MOST_NODES: Final = 200_000
"""Of one template; Kubernetes itself goes up to 5,000."""
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
    """What is said of a workload that asks for more pods than are held, or nothing."""
    field = REPLICA_FIELDS.get(str(raw.get("kind") or "").lower())
    spec = raw.get("spec")
    asked = spec.get(field) if field is not None and isinstance(spec, dict) else None
    if isinstance(asked, int) and asked > MOST_PODS:
        return f"spec.{field}: {asked}: {too_many(MOST_PODS, 'pods of a workload')}"
    return ""


def too_many(most: int, what: str) -> str:
    """What is said of a number that is beyond a limit."""
    return f"too many: at most {most:,} {what} are held in memory"
