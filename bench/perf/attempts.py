"""The latency of scheduling attempts, from the histogram that both schedulers serve."""

import http.client
import re
import ssl
from typing import Final, NamedTuple

METRIC: Final = "scheduler_scheduling_attempt_duration_seconds"
BUCKET: Final = re.compile(rf'^{METRIC}_bucket{{(?:.*,)?le="([^"]+)".*?}} (\S+)$', re.MULTILINE)


class Histogram(NamedTuple):
    """How many attempts took at most so many seconds, by bound."""

    buckets: dict[float, float]

    def since(self, before: "Histogram") -> "Histogram":
        earlier = before.buckets
        return Histogram({le: n - earlier.get(le, 0.0) for le, n in self.buckets.items()})

    @property
    def total(self) -> float:
        """How many attempts there were."""
        return max(self.buckets.values(), default=0.0)

    def quantile(self, part: float) -> float:
        """Milliseconds that this part of all attempts stayed below, as Prometheus estimates it."""
        bounds = sorted(self.buckets.items())
        total = bounds[-1][1] if bounds else 0.0
        if not total:
            return 0.0
        low = below = 0.0
        for bound, count in bounds:
            if count >= part * total:
                if bound == float("inf"):
                    return low * 1000
                return (low + (bound - low) * (part * total - below) / (count - below)) * 1000
            low, below = bound, count
        return low * 1000


def scrape(port: int, token: str) -> Histogram:
    """The attempts so far of whoever serves metrics at this port of loopback."""
    context = ssl._create_unverified_context()
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=30)
    try:
        connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {token}"})
        answer = connection.getresponse()
        text = answer.read().decode()
    finally:
        connection.close()
    if answer.status != 200:
        raise OSError(f"metrics are not served: {answer.status} {text[:200]}")
    found: dict[float, float] = {}
    for written, count in BUCKET.findall(text):
        bound = float(written.replace("+Inf", "inf"))
        found[bound] = found.get(bound, 0.0) + float(count)
    return Histogram(found)
