"""The routes of the dashboard.

| path below /dashboard/ | answers |
|---|---|
| | the page; page/FILE its files |
| api/about | which process this is, and which questions it answers |
| api/cluster | every node, by columns |
| api/cluster?pod=NS/NAME | the same, and what each node says of that pod |
| api/node/NAME | one node: its room, its pods, and which waiting pods it refuses |
| api/queue | which pods wait, where and why |
| api/pod/NS/NAME | one pod and its attempts; with ?explain=1 why this node and no other |
| api/decisions | the last attempts, rates, steps, timeline |
| api/compare | canaries, a shadow, generations, plugins, KPIs |
| api/health | checks, leader, watches, feeds, alerts |
| api/stream | server-sent events: what changes in these views |
"""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

import msgspec
from aiohttp import web

from moorage.dashboard.cluster_view import ClusterView
from moorage.dashboard.decision_view import DecisionView
from moorage.dashboard.event_stream import EventStream
from moorage.dashboard.health_view import HealthView
from moorage.dashboard.node_view import NodeView
from moorage.dashboard.page_files import HEADERS, PageFiles, to_page
from moorage.dashboard.pod_view import EXPLAIN_OFF, PodView
from moorage.dashboard.queue_view import QueueFilter, QueueView
from moorage.dashboard.sources import Sources
from moorage.dashboard.stream_channels import (
    ClusterChannel,
    DecisionChannel,
    HealthChannel,
    QueueChannel,
)
from moorage.framework.verdicts import SchedulingError
from moorage.serve.gate import refusal

API: Final = "/dashboard/api"
DATA_HEADERS: Final = {**HEADERS, "Cache-Control": "no-store", "Content-Type": "application/json"}
Answer = Callable[[web.Request], Awaitable[Any]]


class Dashboard:
    """One page and its views; a server adds `routes`."""

    def __init__(self, sources: Sources) -> None:
        self._sources = sources
        later = sources.cluster.later
        self._files = PageFiles()
        cluster, queue, now = sources.cluster, sources.queue.queue, sources.now
        self._cluster = ClusterView(cluster.cache, later, cluster.measured)
        self._queue = QueueView(sources.queue, sources.records, sources.now, later)
        self._decisions = DecisionView(sources.records, now, sources.timings)
        self._node = NodeView(cluster.cache, queue, cluster.verdicts, now, later)
        self._pod = PodView(
            cluster.cache,
            cluster.pod,
            queue,
            self._queue,
            sources.records,
            sources.explain,
            now,
            later,
        )
        self._health = HealthView(sources.health, now)
        channels = (
            ClusterChannel(self._cluster),
            QueueChannel(self._queue),
            DecisionChannel(self._decisions),
            HealthChannel(self._health),
        )
        self._stream = EventStream(channels)
        self.viewers = self._stream.viewers

    def routes(self) -> list[web.RouteDef]:
        """All routes of the dashboard."""
        views: Mapping[str, Answer] = {
            "about": self._about,
            "cluster": self._get_cluster,
            "queue": self._get_queue,
            "decisions": self._get_decisions,
            "node/{name}": self._get_node,
            "pod/{namespace}/{name}": self._get_pod,
            "compare": self._get_compare,
            "health": self._get_health,
        }
        return [
            web.get("/dashboard", to_page),
            web.get("/dashboard/", self._files.get),
            web.get("/dashboard/page/{file}", self._files.get),
            *(web.get(f"{API}/{path}", _as_json(answer)) for path, answer in views.items()),
            web.get(f"{API}/stream", self._stream.get),
        ]

    def close(self) -> None:
        """End all streams: the server stops."""
        self.viewers.close()

    async def _about(self, request: web.Request) -> Any:
        return self._sources.about()

    async def _get_cluster(self, request: web.Request) -> bytes:
        query, verdicts = request.query, self._sources.cluster.verdicts
        if not query.get("pod"):
            return await self._cluster.whole(query.get("label", ""))
        if verdicts is None:
            raise ValueError(f"pod={query['pod']}: {EXPLAIN_OFF}")
        pod = self._pod.find(query["pod"])
        return await self._cluster.whole(query.get("label", ""), lambda: verdicts.everywhere(pod))

    async def _get_node(self, request: web.Request) -> Any:
        return await self._node.page(request.match_info["name"])

    async def _get_pod(self, request: web.Request) -> Any:
        key = f"{request.match_info['namespace']}/{request.match_info['name']}"
        return await self._pod.page(key, explained=request.query.get("explain") in ("1", "true"))

    async def _get_compare(self, request: web.Request) -> Any:
        return self._sources.compare.page()

    async def _get_health(self, request: web.Request) -> Any:
        return self._health.page()

    async def _get_queue(self, request: web.Request) -> Any:
        return await self._queue.page(QueueFilter.of(request.query))

    async def _get_decisions(self, request: web.Request) -> Any:
        return await self._decisions.page(request.query)


def _as_json(answer: Answer) -> Callable[[web.Request], Awaitable[web.StreamResponse]]:
    """A handler that answers faults of a request in plain text."""

    async def get(request: web.Request) -> web.StreamResponse:
        try:
            found = await answer(request)
        except ValueError as error:
            return refusal(400, f"{error}\n")
        except SchedulingError as error:
            return refusal(409, f"{error}\n")
        except LookupError as error:
            return refusal(404, f"{error.args[0] if error.args else error}\n")
        body = found if isinstance(found, bytes) else msgspec.json.encode(found)
        return web.Response(body=body, headers=DATA_HEADERS)

    return get
