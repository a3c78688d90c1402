"""TypicalPods: which pods to expect, learnt from those that came; and what their room is worth."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage.cache.interner import Interner
from moorage.policies.gpu.gpu_request import GPURequest
from moorage.policies.gpu.packing_costs import Asked, Demand, Devices, copies

COVERED: Final = 0.95
"""The most frequent classes that make up so much of all pods are typical."""
SHORTAGE: Final = 5.0
PACKING: Final = 0.1
"""What idle GPU without CPU weighs, and idle GPU beside the pod, where a fragment weighs 1."""
DRAINING: Final = 0.4
"""What idle GPU beside the pod weighs more where all room is made by pods that end: nodes that get
no new pods are empty again one day, and take a large one."""
REMEMBERED: Final = 16_384
"""Once so many pods were seen, what all of them say is halved: the newer count for more."""
REPRICED: Final = 128
"""Prices are worked out anew when so many more pods have come."""

_ASKED_KEPT: Final = 4_096


class TypicalPods:
    """Counts classes of pods; `demand` is renewed as they add up, and then `version` grows.

    `models` are the models of the device columns, by their ids.
    """

    def __init__(self, models: Interner[str]) -> None:
        self.models = models
        self.version = 0
        self._counts: Counter[GPURequest] = Counter()
        self._large: Counter[GPURequest] = Counter()
        self._milli = 0.0
        self._seen = 0
        self._renewed = 0
        self._asked: dict[GPURequest, Asked] = {}
        self._typical: list[tuple[GPURequest, float, float]] = []
        self.demand = self._demand({}, 0.0)

    def see(self, request: GPURequest) -> None:
        """Count a pod that came."""
        self._counts[_class(request)] += 1
        if request.gpus > 1:
            self._large[request] += 1
        self._milli += request.size
        self._seen += 1
        if self._seen >= REMEMBERED:
            self._fade()

    def is_due(self) -> bool:
        """Whether enough pods have come for the demand to be renewed, or a new model has."""
        if not self.knows_all_models():
            return True
        return self._seen - self._renewed >= min(max(self._renewed, 1), REPRICED)

    def knows_all_models(self) -> bool:
        """Whether the demand was made when all models of today were known."""
        return len(self.models) == int(self.demand.allowed.shape[1])

    def renew(self, devices: Devices, capacity: int) -> None:
        """Look again at what is typical, and at what there is room for; all devices together
        have `capacity` milli."""
        self._renewed = self._seen
        self._typical = self._most_frequent()
        idle = float(devices.left.sum())
        ended = max(self._milli - (capacity - idle), 0.0)
        prices = self._prices(devices, min(idle + ended, capacity))
        self.demand = self._demand(prices, ended / max(idle + ended, 1.0))
        self.version += 1

    def asked(self, request: GPURequest) -> Asked:
        """A pod as the cost functions read it."""
        found = self._asked.get(request)
        if found is None or len(found.may) != len(self.models):
            amounts = np.array(request[:4], dtype=np.int64)
            found = Asked(amounts, self._allowed([request])[0])
            if len(self._asked) >= _ASKED_KEPT:
                self._asked.clear()
            self._asked[request] = found
        return found

    def _fade(self) -> None:
        for counts in (self._counts, self._large):
            for request in list(counts):
                counts[request] //= 2
                if not counts[request]:
                    del counts[request]
        self._milli /= 2
        self._seen //= 2
        self._renewed = min(self._renewed, self._seen)

    def _most_frequent(self) -> list[tuple[GPURequest, float, float]]:
        """Classes with the weights of their fragments and of their shortage."""
        chosen: list[tuple[GPURequest, int]] = []
        covered, total = 0, self._counts.total()
        for request, count in self._counts.most_common():
            if covered >= COVERED * total:
                break
            chosen.append((request, count))
            covered += count
        of_gpus = sum(count for request, count in chosen if request.gpus) or 1
        return [
            (request, count / covered, SHORTAGE * count / of_gpus if request.gpus else 0.0)
            for request, count in chosen
        ]

    def _prices(self, devices: Devices, horizon: float) -> dict[GPURequest, float]:
        """For each class of several GPUs, how much of its room is spoken for, squared.

        Pods are expected as they came so far, each class with its part, `horizon` milli in all: as
        many as fill the idle GPUs, and as many more as have ended, since where pods end, others
        come in their place. A class that was seen but once is taken as seen twice: it counts where
        room is scarce.
        """
        prices = {}
        for request, count in self._large.items():
            asked = self.asked(request)
            fits = asked.may[devices.model] != 0
            room = int(copies(devices, asked.amounts)[fits].sum())
            if room:
                expected = (count + 1) * horizon / (self._milli + 1)
                prices[request] = min(expected / room, 1.0) ** 2
        return prices

    def _demand(self, prices: dict[GPURequest, float], turnover: float) -> Demand:
        requests = [request for request, _, _ in self._typical] + list(prices)
        weights = [(fragment, short, 0.0) for _, fragment, short in self._typical]
        weights += [(0.0, 0.0, price) for price in prices.values()]
        return Demand(
            np.array([request[:4] for request in requests], dtype=np.int64).reshape(-1, 4),
            self._allowed(requests),
            np.array(weights, dtype=np.float64).reshape(-1, 3),
            PACKING + DRAINING * turnover,
        )

    def _allowed(self, requests: Sequence[GPURequest]) -> NDArray[np.uint8]:
        """Which models each request is content with.  uint8 (request, model)"""
        names = self.models.values
        rows = [[not asked.models or name in asked.models for name in names] for asked in requests]
        return np.array(rows, dtype=np.uint8).reshape(-1, len(names))


def _class(request: GPURequest) -> GPURequest:
    """What pods of one class have in common; how much memory they ask for is not part of it."""
    return request._replace(memory=0)
