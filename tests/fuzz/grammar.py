"""Raw data drawn from annotated types: each struct is the grammar of its objects."""

import datetime
import random
import types
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec

from moorage.api.lenient_json import is_quantity

LABELS: Final = (
    "app",
    "tier",
    "disk",
    "gen",
    "kubernetes.io/hostname",
    "topology.kubernetes.io/zone",
)
TEXTS: Final = (
    *LABELS, *("web", "db", "z1", "z2", "n00", "n01", "ssd", "1", "7", "default", "team-a", "c0"),
    *("In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Equal"),
    *("NoSchedule", "NoExecute", "PreferNoSchedule", "DoNotSchedule", "ScheduleAnyway"),
    *("Always", "Never", "PreemptLowerPriority", "Honor", "Ignore", "Running", "Succeeded"),
    *("cpu", "memory", "pods", "nvidia.com/gpu", "ephemeral-storage", "hugepages-2Mi"),
    *("WaitForFirstConsumer", "Immediate", "ReadWriteOnce", "ReadWriteOncePod", "TCP", "UDP"),
    *("Bound", "Pending", "50%", "150%", "claim-0", "pv-0", "fast", "csi.example", "group-0"),
    *("True", "False", "Unknown", "PodScheduled", "Ready", "0.0.0.0", "127.0.0.1", "::"),
)  # fmt: skip
ODD_TEXTS: Final = (
    *("", " ", "\x00", "\n", "ü", "\U0001f6a2", "a/b/c", "/", "%", "-1", "9" * 25, "1e400", "NaN"),
    *("x" * 64, "x" * 300, "../../etc", "{}", "null", "(a+)+$", "\u202e", "K" * 5000),
)  # fmt: skip
QUANTITIES: Final = (
    "0",
    "1",
    "100m",
    "4",
    "1Gi",
    "64Mi",
    "2500m",
    "1e3",
    "1k",
    "0.5",
    "16Gi",
    "110",
)
ODD_QUANTITIES: Final = (
    *("-1", "1e99", "9223372036854775807", "9223372036854775808", "1n", "1E", "1Ei", "1e-10"),
    *("", "x", "1 Gi", "1e-99", "1Gii", "+5", "1e1000000000", "9" * 99, "0x10", ".5", "5.", "1_0"),
)  # fmt: skip
NUMBERS: Final = (0, 1, 2, 3, 5, 10, 100, 8080)
ODD_NUMBERS: Final = (-1, 65536, 2**31 - 1, 2**31, -(2**31), 2**63 - 1, -(2**63), 2**63, 2**70)
DEEPEST: Final = 9


class Grammar:
    """Draws values of annotated types; `oddness` is the chance of a value nobody expects."""

    def __init__(self, rng: random.Random, oddness: float) -> None:
        self._rng = rng
        self._oddness = oddness

    def draw(self, annotation: Any, depth: int = 0) -> Any:
        """A raw value of the type, or, now and then, of another."""
        rng, origin, args = self._rng, get_origin(annotation), get_args(annotation)
        if origin is Annotated:
            return self.quantity() if is_quantity(annotation) else self.draw(args[0], depth)
        if origin in (Union, types.UnionType):
            return self.draw(rng.choice([arg for arg in args if arg is not type(None)]), depth)
        if origin is Literal:
            return rng.choice(args) if not self._odd() else self.text()
        if origin in (tuple, list, frozenset):
            return [self.draw(args[0], depth + 1) for _ in range(self._length(depth))]
        if origin is dict:
            return {self.text(): self.draw(args[1], depth + 1) for _ in range(self._length(depth))}
        if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
            return self.struct(annotation, depth)
        return self._plain(annotation)

    def struct(self, struct: type[msgspec.Struct], depth: int = 0) -> dict[str, Any]:
        """Some of a struct's fields."""
        if depth > DEEPEST:
            return {}
        share = self._rng.choice((0.15, 0.3, 0.6))
        fields = [f for f in msgspec.structs.fields(struct) if self._rng.random() < share]
        return {field.encode_name: self.draw(field.type, depth + 1) for field in fields}

    def text(self) -> str:
        return self._rng.choice(ODD_TEXTS if self._odd() else TEXTS)

    def quantity(self) -> Any:
        return self._rng.choice(ODD_QUANTITIES if self._odd() else QUANTITIES)

    def _plain(self, annotation: Any) -> Any:
        rng = self._rng
        if annotation is bool:
            return rng.random() < 0.5
        if annotation is int:
            return rng.choice(ODD_NUMBERS if self._odd() else NUMBERS)
        if annotation is float:
            return rng.choice((0.0, 0.5, -1.0, 1e308, 3))
        if annotation is datetime.datetime:
            year = rng.choice(("2026", "2025", "0001", "9999", "12345"))
            return f"{year}-01-0{rng.randint(1, 9)}T00:00:00Z"
        return self.text()

    def _odd(self) -> bool:
        return self._rng.random() < self._oddness

    def _length(self, depth: int) -> int:
        return 0 if depth > DEEPEST else self._rng.choice((0, 1, 1, 2, 3))
