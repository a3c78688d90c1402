"""Requests to the API server, counted under client-go's names.

Dashboards of Kubernetes components ask for `rest_client_*`; the client counts every request here,
with the time it waited for its turn.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from moorage.observe import catalogue
from moorage.observe.metric_families import Family, Tallies, Tally, counter, histogram

NO_ANSWER: Final = "<error>"


class ClientMetrics:
    """What became of requests to one host."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._requests: Counter[tuple[str, ...]] = Counter()
        self._durations = Tallies(catalogue.CLIENT_DURATION.buckets)
        self._waits = Tallies(catalogue.CLIENT_WAIT.buckets)

    def answered(self, method: str, status: int, seconds: float) -> None:
        """A request has ended; a status of 0: without an answer."""
        self._requests[str(status) if status else NO_ANSWER, self._host, method] += 1
        self._durations.of(self._host, method).observe(seconds)

    def waited(self, method: str, seconds: float) -> None:
        """A request has waited so long for its turn."""
        self._waits.of(self._host, method).observe(seconds)

    def durations(self) -> Tally:
        """How long requests took, all together."""
        found = Tally(catalogue.CLIENT_DURATION.buckets)
        tallies = [tally for _, tally in self._durations.items()]
        for tally in tallies:
            found.add(tally)
        return found

    @property
    def failed(self) -> int:
        """How many requests had no answer, or the server's excuses."""
        return sum(
            count
            for (status, *_), count in self._requests.items()
            if status == NO_ANSWER or status >= "500" or status == "429"
        )

    def describe(self) -> Iterable[Family]:
        """Nothing: what there is to tell is found out when it is asked for."""
        return ()

    def collect(self) -> Iterator[Family]:
        """Everything, for Prometheus."""
        yield counter(catalogue.CLIENT_REQUESTS, self._requests.items())
        yield histogram(catalogue.CLIENT_DURATION, self._durations.items())
        yield histogram(catalogue.CLIENT_WAIT, self._waits.items())
