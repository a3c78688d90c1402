"""Amounts of resources in every notation that Kubernetes reads."""

from typing import Any

from tests.differential.dice import Dice

CPU = ("50m", "100m", "250m", "500m", "0.5", "1", "1500m", "2", "4")
MEMORY = ("64Mi", "128Mi", "200M", "256Mi", "512Mi", "1Gi", "2Gi", "3G", "4Gi")
STORAGE = ("1Gi", "5Gi", "10Gi", "30Gi")
COUNTS = ("1", "2", "3", "4")

ODD_CPU: tuple[Any, ...] = (
    "0",
    "0.0001",
    "100u",
    "1500u",
    "100n",
    "1e-3",
    "1e3m",
    "1E1",
    "+1",
    ".5",
    "1.",
    "1.0005",
    "2k",
    "1Ki",
    "-1",
    "-100m",
    "9223372036854775807m",
    "9223372036854775807",
    "10P",
    1,
    2,
    0.25,
)
ODD_MEMORY: tuple[Any, ...] = (
    "0",
    "1500m",
    "1e3",
    "1e9",
    "0.5Gi",
    "1.5Gi",
    "1n",
    "1u",
    "0.1",
    "128974848",
    "512Ki",
    "1Ti",
    "1Pi",
    "9E",
    "8Ei",
    "16Ei",
    "1e19",
    "9223372036854775807",
    "9223372036854775808",
    "-1",
    "-1Gi",
    ".5Mi",
    1073741824,
    1.5,
)
ODD_COUNTS: tuple[Any, ...] = ("0", "1500m", "0.5", "1k", "1e2", "1Ki", "-1", "9E", 2)
UNREADABLE: tuple[Any, ...] = ("", "1 Gi", "1gi", "abc", "1e", "--1", "1.2.3", "1KiB", "0x10", True)


def cpu(dice: Dice) -> Any:
    return _amount(dice, CPU, ODD_CPU)


def memory(dice: Dice) -> Any:
    return _amount(dice, MEMORY, ODD_MEMORY)


def storage(dice: Dice) -> Any:
    return _amount(dice, STORAGE, ODD_MEMORY)


def count(dice: Dice) -> Any:
    return _amount(dice, COUNTS, ODD_COUNTS)


def _amount(dice: Dice, usual: tuple[str, ...], odd: tuple[Any, ...]) -> Any:
    return dice.pick(UNREADABLE) if dice.odd(0.01) else dice.either(usual, odd)
