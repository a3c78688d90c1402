"""The pods by which two versions are compared: the canary's, and a control group.

The pods of both groups enter one window, in the order of their first attempts. The oldest leave it
first, whatever their group. So both groups always cover the same time: a cluster that fills up
does so for both.
"""

import math
from collections import Counter, OrderedDict

import numpy as np
from numpy.typing import NDArray

from moorage.rollout.effects import EFFECTS, INDEX

CONTROL_SHARE = 3
"""The control group has at most this many times the canary's share of pods."""


class _Pod:
    __slots__ = ("ended", "is_canary", "unit", "values")

    def __init__(self, unit: str, is_canary: bool) -> None:
        self.unit = unit
        self.is_canary = is_canary
        self.ended = False
        self.values = [math.nan] * len(EFFECTS)


class ComparedPods:
    """The KPIs of the last pods of both groups.

    A unit is what was hashed: a pod, or all pods of an owner, which count as one.
    """

    def __init__(self, window: int) -> None:
        self._most = window * (1 + CONTROL_SHARE)
        self._pods: OrderedDict[str, _Pod] = OrderedDict()
        self._units: dict[bool, Counter[str]] = {True: Counter(), False: Counter()}
        self.ended = 0
        """The number of canary pods that were bound or failed since the canary began."""

    def enter(self, uid: str, unit: str, *, is_canary: bool) -> None:
        """Add a pod at its first attempt; later attempts change nothing."""
        if uid in self._pods:
            return
        self._pods[uid] = _Pod(unit, is_canary)
        if len(self._pods) > self._most:
            self._drop(self._pods.popitem(last=False)[1])

    def set(self, uid: str, kpi: str, value: float) -> None:
        """Set a KPI of a pod; pods in neither group are ignored."""
        pod = self._pods.get(uid)
        if pod is not None:
            pod.values[INDEX[kpi]] = value

    def add(self, uid: str, kpi: str, amount: float) -> None:
        """Add to a KPI of a pod."""
        pod = self._pods.get(uid)
        if pod is not None and amount:
            before = pod.values[INDEX[kpi]]
            pod.values[INDEX[kpi]] = amount if math.isnan(before) else before + amount

    def end(self, uid: str) -> None:
        """Count a pod from now on: it was bound, or an attempt at it failed."""
        pod = self._pods.get(uid)
        if pod is None or pod.ended:
            return
        pod.ended = True
        if math.isnan(pod.values[INDEX["evictions"]]):
            pod.values[INDEX["evictions"]] = 0.0
        self._units[pod.is_canary][pod.unit] += 1
        self.ended += pod.is_canary

    def __contains__(self, uid: object) -> bool:
        return uid in self._pods

    def units(self, *, canary: bool) -> int:
        """The number of units of a group."""
        return len(self._units[canary])

    def table(self) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
        """The mean of each unit.  float64 (unit, kpi), NaN for none; bool (unit), canary or not"""
        rows: dict[tuple[bool, str], list[list[float]]] = {}
        for pod in self._pods.values():
            if pod.ended:
                rows.setdefault((pod.is_canary, pod.unit), []).append(pod.values)
        values = np.array([_mean(found) for found in rows.values()], dtype=np.float64)
        canary = np.array([is_canary for is_canary, _ in rows], dtype=bool)
        return values.reshape(len(rows), len(EFFECTS)), canary

    def _drop(self, pod: _Pod) -> None:
        if not pod.ended:
            return
        units = self._units[pod.is_canary]
        units[pod.unit] -= 1
        if not units[pod.unit]:
            del units[pod.unit]


def _mean(pods: list[list[float]]) -> list[float]:
    """The mean of each KPI over the pods that have a value."""
    if len(pods) == 1:
        return pods[0]
    found = []
    for column in zip(*pods, strict=True):
        known = [value for value in column if not math.isnan(value)]
        found.append(math.fsum(known) / len(known) if known else math.nan)
    return found
