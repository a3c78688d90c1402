"""Reads price tables from a ConfigMap, with one table per entry, or from a file."""

from typing import Final

from moorage.feeds.readings import FeedError, Prices
from moorage.feeds.source_contents import config_map_title, read_config_map, read_text_file
from moorage.policies.business.price_table import PriceTable, PriceTableError, join, parse_prices
from moorage.policies.telemetry.metric_sources import PriceConfigMap, PriceFile
from moorage.watch.api_server import ApiServer

MISSING: Final = "there is no such ConfigMap: write one with a table of prices, or set priceFile"


class ConfigMapPrices:
    """Reads every table of one ConfigMap."""

    def __init__(self, source: PriceConfigMap, server: ApiServer) -> None:
        self._source = source
        self._server = server

    async def read(self) -> Prices:
        where = (self._source.namespace, self._source.config_map)
        found = await read_config_map(self._server, *where, missing=MISSING)
        place, data = config_map_title(*where), found.get("data") or {}
        tables = [_parsed(text, f"{place}, data[{key}]") for key, text in sorted(data.items())]
        return Prices(join(tables))

    async def close(self) -> None:
        """Nothing is held open."""


class FilePrices:
    """Reads one file."""

    def __init__(self, source: PriceFile) -> None:
        self._source = source

    async def read(self) -> Prices:
        return Prices(_parsed(read_text_file(self._source.path), self._source.path))

    async def close(self) -> None:
        """Nothing is held open."""


def _parsed(text: str, place: str) -> PriceTable:
    try:
        return parse_prices(text, place)
    except PriceTableError as error:
        raise FeedError(str(error)) from None
