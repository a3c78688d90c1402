"""Readers of price tables: a ConfigMap, each entry of which is a table, or a file."""

from pathlib import Path
from typing import Final

from moorage.feeds.readings import CONFIG_MAPS, FeedError, Prices
from moorage.policies.business.price_table import PriceTable, PriceTableError, join, parse_prices
from moorage.policies.telemetry.metric_sources import PriceConfigMap, PriceFile
from moorage.watch.api_errors import ApiError, NotFound
from moorage.watch.api_server import ApiServer

MISSING: Final = "there is no such ConfigMap: write one with a table of prices, or set priceFile"


class ConfigMapPrices:
    """Reads every table of one ConfigMap."""

    def __init__(self, source: PriceConfigMap, server: ApiServer) -> None:
        self._source = source
        self._server = server

    async def read(self) -> Prices:
        where = (self._source.namespace, self._source.config_map)
        place = f"ConfigMap {'/'.join(where)}"
        try:
            found = await self._server.get(CONFIG_MAPS, *where)
        except NotFound:
            raise FeedError(f"{place}: {MISSING}") from None
        except ApiError as error:
            raise FeedError(f"{place}: {error}") from None
        data = found.get("data") or {}
        tables = [_parsed(text, f"{place}, data[{key}]") for key, text in sorted(data.items())]
        return Prices(join(tables))

    async def close(self) -> None:
        """Nothing is held open."""


class FilePrices:
    """Reads one file."""

    def __init__(self, source: PriceFile) -> None:
        self._source = source

    async def read(self) -> Prices:
        return Prices(_parsed(_read_text(self._source.path), self._source.path))

    async def close(self) -> None:
        """Nothing is held open."""


def _read_text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise FeedError(f"{path}: {error.strerror}") from None


def _parsed(text: str, place: str) -> PriceTable:
    try:
        return parse_prices(text, place)
    except PriceTableError as error:
        raise FeedError(str(error)) from None
