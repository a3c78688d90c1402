"""`/debug/decisions`: the last attempts as JSON, filtered and paged, or as a stream of lines."""

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
from aiohttp import web

from moorage.api.annotations import read_int
from moorage.observe.decision_records import DecisionRecord, DecisionRecords

DEFAULT_LIMIT: Final = 100
MOST: Final = 1000
MOST_STREAMS: Final = 8
NDJSON: Final = "application/x-ndjson"


class DecisionFilter(msgspec.Struct, frozen=True):
    """Which records to return; an empty field matches everything."""

    pod: str = ""
    namespace: str = ""
    node: str = ""
    result: str = ""
    profile: str = ""
    since: int = 0
    limit: int = DEFAULT_LIMIT

    @classmethod
    def of(cls, query: Mapping[str, str]) -> "DecisionFilter":
        """The filter of a query string; ValueError names an invalid parameter."""
        text = {name: query.get(name, "") for name in ("pod", "namespace", "node", "result")}
        which = "continue" if query.get("continue") else "since"
        after = query.get(which) or "0"
        limit = query.get("limit") or str(DEFAULT_LIMIT)
        numbers = read_int(after), read_int(limit)
        for name, value, number in zip((which, "limit"), (after, limit), numbers, strict=True):
            if number is None:
                raise ValueError(f"{name}={value}: not a number")
        since, most = (number or 0 for number in numbers)
        return cls(**text, profile=query.get("profile", ""), since=since, limit=min(most, MOST))

    def takes(self, record: DecisionRecord) -> bool:
        namespace = record.pod.partition("/")[0]
        return (
            self.pod in ("", record.pod)
            and self.namespace in ("", namespace)
            and self.node in ("", record.node)
            and self.result in ("", record.result)
            and self.profile in ("", record.profile)
        )


class DecisionPages:
    """Answers requests for records."""

    def __init__(self, records: DecisionRecords) -> None:
        self._records = records
        self._streams = 0

    async def get(self, request: web.Request) -> web.StreamResponse:
        """One page, or with `?watch=1` a stream of new records, one per line."""
        try:
            wanted = DecisionFilter.of(request.query)
        except ValueError as error:
            return web.Response(status=400, text=f"{error}\n")
        if request.query.get("watch") in ("1", "true"):
            return await self._stream(request, wanted)
        body = msgspec.json.encode(self.page(wanted))
        return web.Response(body=body, content_type="application/json")

    def page(self, wanted: DecisionFilter) -> dict[str, object]:
        """One page of records, and the token for the next page if there is one."""
        items: list[DecisionRecord] = []
        for record in self._found(wanted):
            if len(items) == wanted.limit:
                return {"items": items, "continue": str(items[-1].number)}
            items.append(record)
        return {"items": items, "continue": ""}

    def _found(self, wanted: DecisionFilter) -> Iterator[DecisionRecord]:
        records = self._records
        found = (
            (each for each in records.of_pod(wanted.pod) if each.number > wanted.since)
            if wanted.pod
            else records.since(wanted.since)
        )
        return (each for each in found if wanted.takes(each))

    async def _stream(self, request: web.Request, wanted: DecisionFilter) -> web.StreamResponse:
        if self._streams >= MOST_STREAMS:
            text = f"{MOST_STREAMS} streams are open: try again when one has ended\n"
            return web.Response(status=429, text=text, headers={"Retry-After": "10"})
        self._streams += 1
        try:
            response = web.StreamResponse(headers={"Content-Type": NDJSON})
            await response.prepare(request)
            last = wanted.since or self._records.count
            while True:
                for record in list(self._records.since(last)):
                    last = record.number
                    if wanted.takes(record):
                        await response.write(msgspec.json.encode(record) + b"\n")
                await self._records.more()
        finally:
            self._streams -= 1
