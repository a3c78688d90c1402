"""Requests to the API server, counted under client-go's names.

Dashboards of Kubernetes components read `rest_client_*`. The client counts every request here, with
the time it waited for the rate limit.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from moorage.observe import catalogue
from moorage.observe.metric_families import Family, Tallies, Tally, counter, histogram

NO_ANSWER: Final = "<error>"


class ClientMetrics:
    """The results and durations of requests to one host."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._requests: Counter[tuple[str, ...]] = Counter()
        self._durations = Tallies(catalogue.CLIENT_DURATION.buckets)
        self._waits = Tallies(catalogue.CLIENT_WAIT.buckets)
        self._left_out: Counter[tuple[str, ...]] = Counter()

    def answered(self, method: str, status: int, seconds: float) -> None:
        """Count a request that has ended; a `status` of 0 means without an answer."""
        self._requests[str(status) if status else NO_ANSWER, self._host, method] += 1
        self._durations.of(self._host, method).observe(seconds)

    def waited(self, method: str, seconds: float) -> None:
        """Count how long a request has waited for the rate limit."""
        self._waits.of(self._host, method).observe(seconds)

    def left_out(self, resource: str) -> None:
        """Count a version of an object that cannot be read."""
        self._left_out[(resource,)] += 1

    def durations(self) -> Tally:
        """How long requests took, all together."""
        found = Tally(catalogue.CLIENT_DURATION.buckets)
        tallies = [tally for _, tally in self._durations.items()]
        for tally in tallies:
            found.add(tally)
        return found

    @property
    def failed(self) -> int:
        """How many requests got no answer, a server error or 429."""
        return sum(
            count
            for (status, *_), count in self._requests.items()
            if status == NO_ANSWER or status >= "500" or status == "429"
        )

    def describe(self) -> Iterable[Family]:
        """Nothing: the metrics are made at each scrape."""
        return ()

    def collect(self) -> Iterator[Family]:
        """Everything, for Prometheus."""
        yield counter(catalogue.CLIENT_REQUESTS, self._requests.items())
        yield histogram(catalogue.CLIENT_DURATION, self._durations.items())
        yield histogram(catalogue.CLIENT_WAIT, self._waits.items())
        yield counter(catalogue.UNREADABLE_OBJECTS, self._left_out.items())
