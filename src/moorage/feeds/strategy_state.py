"""Keeps what AdaptiveSchedulingPlugin has learnt in a ConfigMap: read at the start, then written.

    kind: ConfigMap
    data:
      strategies.json: '{"web": {"values": {"safety": 100}, ...}}'

The value is JSON by namespace, one `Learner` each. To learn anew, delete an entry, or the key.
"""

import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import msgspec

from moorage.clock import Clock
from moorage.cycle.profile import Profile
from moorage.feeds.readings import CONFIG_MAPS, FeedError
from moorage.feeds.source_contents import config_map_title, read_config_map
from moorage.observe.logs import say
from moorage.policies.load import adaptive_scheduling
from moorage.policies.load.strategy_learner import Learner
from moorage.policies.telemetry import metric_sources
from moorage.policies.telemetry.metric_sources import StrategyConfigMap
from moorage.watch.api_errors import ApiError, NotFound
from moorage.watch.api_server import ApiServer

KEY: Final = "strategies.json"
WRITE_SECONDS: Final = 30.0
MISSING: Final = (
    "there is no such ConfigMap: add the component deploy/components/strategies, or set "
    "stateConfigMap: '' and have strategies learnt anew after each restart"
)

Learners = dict[str, Learner]


class RestoredStrategies(msgspec.Struct, frozen=True):
    """What was learnt earlier."""

    learners: Learners

    def write(self, shared: dict[str, Any]) -> None:
        """Restore it for namespaces where nothing has been learnt since the start."""
        fresh: Learners = msgspec.convert(msgspec.to_builtins(self.learners), Learners)
        adaptive_scheduling.learned_strategies(shared).restore(fresh)

    @property
    def values(self) -> object:
        """Always equal: no pod waits for this."""
        return None


class StrategyReader:
    """Reads the ConfigMap."""

    def __init__(self, source: StrategyConfigMap, server: ApiServer) -> None:
        self._source = source
        self._server = server

    async def read(self) -> RestoredStrategies:
        where = (self._source.namespace, self._source.config_map)
        found = await read_config_map(self._server, *where, missing=MISSING)
        text = (found.get("data") or {}).get(KEY, "")
        return RestoredStrategies(parse_learners(text, config_map_title(*where)))

    async def close(self) -> None:
        """Nothing is held open."""


def parse_learners(text: str, place: str) -> Learners:
    """What was learnt, by namespace; raises a FeedError if it cannot be read."""
    try:
        return msgspec.json.decode(text or "{}", type=Learners)
    except (msgspec.DecodeError, msgspec.ValidationError) as error:
        raise FeedError(f"{place}, data[{KEY}]: {error}") from None


class StrategyWriter:
    """Writes what was learnt, whenever it has changed."""

    def __init__(self, server: ApiServer, profiles: Callable[[], Iterable[Profile]]) -> None:
        self._server = server
        self._profiles = profiles
        self._written: dict[StrategyConfigMap, bytes] = {}
        self._trouble = ""

    async def run(self, clock: Clock) -> None:
        """Write periodically until cancelled."""
        while True:
            await clock.sleep(WRITE_SECONDS)
            await self.write()

    async def write(self) -> None:
        """Write what has changed. The same failure is logged once."""
        for source, learners in self._learnt().items():
            text = msgspec.json.encode(learners, order="sorted")
            if not learners or self._written.get(source) == text:
                continue
            try:
                await self._server.patch(
                    CONFIG_MAPS, source.namespace, source.config_map, {"data": {KEY: text.decode()}}
                )
            except ApiError as error:
                self._say(MISSING if isinstance(error, NotFound) else str(error))
            else:
                self._written[source] = text
                self._trouble = ""

    def _learnt(self) -> dict[StrategyConfigMap, Learners]:
        found: dict[StrategyConfigMap, Learners] = {}
        for profile in self._profiles():
            known = adaptive_scheduling.learned_strategies(profile.shared).learners
            learnt = {name: each for name, each in known.items() if each.windows}
            for source in self._sources(profile):
                found.setdefault(source, {}).update(learnt)
        return found

    def _sources(self, profile: Profile) -> Iterator[StrategyConfigMap]:
        for plugin in profile.plugins.values():
            try:
                listed = list(metric_sources.listed_sources(plugin))
            except Exception:  # a broken plugin ends nothing; the feeds name it
                continue
            yield from (each for each in listed if isinstance(each, StrategyConfigMap))

    def _say(self, why: str) -> None:
        if why != self._trouble:
            self._trouble = why
            say(logging.WARNING, "strategies not written", err=why)
