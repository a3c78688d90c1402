"""ConfigMaps of the cluster that a configuration is read from: read once, then followed.

Each is asked for by name, so that a Role which allows just these is enough.
"""

import random
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import aclosing
from typing import Final, NamedTuple

from moorage.api.config_map import ConfigMap
from moorage.api.decode import decode_as
from moorage.clock import Clock
from moorage.reload import texts
from moorage.reload.texts import Text
from moorage.simulate.manifests import InputError
from moorage.watch.errors import ApiError, Forbidden, NotFound, Unauthorized
from moorage.watch.reflector import Reflector
from moorage.watch.resources import RESOURCES
from moorage.watch.surface import ApiServer

CONFIG_MAPS: Final = RESOURCES["configmaps"]
OPTION: Final = "--config-map"
RETRY_SECONDS: Final = 1.0

Failed = Callable[[str, ApiError], None]


class Ref(NamedTuple):
    """A ConfigMap, and the key of the only text of it to be read."""

    namespace: str
    name: str
    key: str = ""

    @classmethod
    def parse(cls, text: str) -> "Ref":
        """Read `NAMESPACE/NAME` or `NAMESPACE/NAME:KEY`."""
        place, _, key = text.partition(":")
        namespace, _, name = place.partition("/")
        if not namespace or not name or "/" in name:
            raise InputError([f"{OPTION} {text}: write NAMESPACE/NAME or NAMESPACE/NAME:KEY"])
        return cls(namespace, name, key)

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" + (f":{self.key}" if self.key else "")


class ConfigMaps:
    """The ConfigMaps as they are known; `None` for one that is gone."""

    def __init__(self, refs: Iterable[Ref]) -> None:
        self.refs = tuple(refs)
        self.known: dict[Ref, ConfigMap | None] = {}

    def read(self) -> list[Text]:
        """Every text; InputError where a ConfigMap, or its key, is not there."""
        problems: list[str] = []
        found: list[Text] = []
        for ref in self.refs:
            config_map = self.known.get(ref)
            if config_map is None:
                problems.append(f"{OPTION} {ref}: there is no such ConfigMap: create it")
            elif ref.key and ref.key not in config_map.data:
                keys = ", ".join(sorted(config_map.data)) or "none"
                problems.append(f'{OPTION} {ref}: no key "{ref.key}"; there are: {keys}')
            else:
                found.append(texts.of_config_map(config_map, ref.key))
        if problems:
            raise InputError(problems)
        return found

    async def fetch(self, server: ApiServer, clock: Clock, failed: Failed) -> None:
        """Read each once. A server that does not answer is asked again; a refusal is final."""
        for ref in self.refs:
            while ref not in self.known:
                try:
                    raw = await server.get(CONFIG_MAPS, ref.namespace, ref.name)
                except NotFound:
                    self.known[ref] = None
                except (Forbidden, Unauthorized) as error:
                    raise InputError([f"{OPTION} {ref}: {error}"]) from None
                except ApiError as error:
                    failed(str(ref), error)
                    await clock.sleep(max(RETRY_SECONDS, error.retry_after))
                else:
                    self.known[ref] = decode_as(raw, ConfigMap)

    async def follow(
        self, ref: Ref, server: ApiServer, clock: Clock, rng: random.Random, failed: Failed
    ) -> AsyncGenerator[None, None]:
        """Keep one up to date; every change is an item."""
        reflector = Reflector(
            server,
            CONFIG_MAPS.one(f"{ref.namespace}/{ref.name}"),
            clock=clock,
            rng=rng,
            on_error=lambda error, delay: failed(f"watch/configmaps/{ref}", error),
        )
        async with aclosing(reflector.changes()) as changes:
            async for change in changes:
                if change.type == "synced":
                    continue
                self.known[ref] = change.new if isinstance(change.new, ConfigMap) else None
                yield
