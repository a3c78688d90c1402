"""TypicalPods: which pods to expect, learnt from the pods so far, and the price of their room."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from moorage.cache.interner import Interner
from moorage.policies.gpu.gpu_request import GPURequest
from moorage.policies.gpu.packing_costs import Asked, Demand, Devices, copies

COVERED: Final = 0.95
"""The most frequent classes that make up this share of all pods are typical."""
SHORTAGE: Final = 5.0
PACKING: Final = 0.1
"""The weight of idle GPU without CPU, and of idle GPU beside the pod; a fragment weighs 1."""
DRAINING: Final = 0.4
"""The additional weight of idle GPU beside the pod if all room comes from pods that end. Nodes that
get no new pods become empty one day, and can take a large pod."""
REMEMBERED: Final = 16_384
"""After this many pods all counts are halved, so that newer pods count for more."""
MOST_TYPICAL: Final = 128
MOST_PRICED: Final = 128
"""How many classes of each kind count, the most frequent first: each is looked at for every device
of a node, in every attempt."""
REPRICED: Final = 128
"""The demand is renewed after at most this many more pods."""

_ASKED_KEPT: Final = 4_096


class TypicalPods:
    """Counts classes of pods; `demand` is renewed from time to time, which increments `version`.

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
        """Count a pod."""
        self._counts[_class(request)] += 1
        if request.gpus > 1:
            self._large[request] += 1
        self._milli += request.size
        self._seen += 1
        if self._seen >= REMEMBERED:
            self._fade()

    def is_due(self) -> bool:
        """Whether the demand should be renewed: enough pods came, or a new model."""
        if not self.knows_all_models():
            return True
        return self._seen - self._renewed >= min(max(self._renewed, 1), REPRICED)

    def knows_all_models(self) -> bool:
        """Whether the demand was made with all models known now."""
        return len(self.models) == int(self.demand.allowed.shape[1])

    def renew(self, devices: Devices, capacity: int) -> None:
        """Recompute the typical classes and their prices; all devices together have `capacity`
        milli."""
        self._renewed = self._seen
        self._typical = self._most_frequent()
        idle = float(devices.left.sum())
        ended = max(self._milli - (capacity - idle), 0.0)
        prices = self._prices(devices, min(idle + ended, capacity))
        self.demand = self._demand(prices, ended / max(idle + ended, 1.0))
        self.version += 1

    def asked(self, request: GPURequest) -> Asked:
        """A pod in the form the cost functions read."""
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
        """Typical classes with the weights of their fragments and of their shortage."""
        chosen: list[tuple[GPURequest, int]] = []
        covered, total = 0, self._counts.total()
        for request, count in self._counts.most_common(MOST_TYPICAL):
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
        """By class of several GPUs, the square of the share of its room that expected pods fill.

        Expected are pods with `horizon` milli in all, in the proportions so far: as many as fill
        the idle GPUs, and as many again as have ended, because new pods replace pods that end. Each
        class counts one pod more than were seen, so that a class seen once counts if room is
        scarce.
        """
        prices = {}
        for request, count in self._large.most_common(MOST_PRICED):
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
        """Which models each request accepts.  uint8 (request, model)"""
        names = self.models.values
        rows = [[not asked.models or name in asked.models for name in names] for asked in requests]
        return np.array(rows, dtype=np.uint8).reshape(-1, len(names))


def _class(request: GPURequest) -> GPURequest:
    """The class of a pod: its request without memory."""
    return request._replace(memory=0)
