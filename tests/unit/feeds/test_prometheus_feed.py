"""Measurements from a Prometheus server: a real HTTP server that answers as Prometheus does."""

import asyncio
import math
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from aiohttp import web

from moorage.config.durations import Duration
from moorage.feeds import prometheus_feed
from moorage.feeds.prometheus_feed import PrometheusEnergy, PrometheusUsage
from moorage.feeds.readings import FeedError
from moorage.policies.telemetry.metric_sources import (
    CPU_QUERY,
    MEMORY_QUERY,
    POWER_QUERY,
    TEMPERATURE_QUERY,
    EnergyProvider,
    UsageProvider,
)
from moorage.policies.telemetry.node_measurements import Energy, Usage
from moorage.serve.secure_serving import Certificates, ServerTls
from moorage.testing import node

T = TypeVar("T")
AT = 1_000_000.5
GB = 2**30


def vector(**values: str) -> dict[str, Any]:
    result = [
        {"metric": {"instance": instance.replace("_", ".") + ":9100"}, "value": [AT, value]}
        for instance, value in values.items()
    ]
    return {"status": "success", "data": {"resultType": "vector", "result": result}}


class FakePrometheus:
    """Answers queries; anything else with what Prometheus says then."""

    def __init__(self, answers: dict[str, Any], token: str = "") -> None:
        self._answers = answers
        self._token = token

    async def query(self, request: web.Request) -> web.Response:
        if self._token and request.headers.get("Authorization") != f"Bearer {self._token}":
            return web.Response(status=401, text="Unauthorized")
        asked = str((await request.post())["query"])
        found = self._answers.get(asked)
        if found is None:
            wrong = {"status": "error", "errorType": "bad_data", "error": f"parse error in {asked}"}
            return web.json_response(wrong, status=400)
        return web.json_response(found)

    async def serve(self, use: Callable[[str], Awaitable[T]], tls: ServerTls | None = None) -> T:
        app = web.Application()
        app.router.add_post("/api/v1/query", self.query)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        context = tls.context if tls is not None else None
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        try:
            scheme = "http" if tls is None else "https"
            return await use(f"{scheme}://127.0.0.1:{runner.addresses[0][1]}")
        finally:
            await runner.cleanup()


def names() -> dict[str, str]:
    by_address = node("n1")
    by_address.raw["status"]["addresses"] = [{"type": "InternalIP", "address": "10.0.0.5"}]
    return prometheus_feed.node_names_by_alias([by_address.build(), node("n2").build()])


def usage(prometheus: FakePrometheus, tls: ServerTls | None = None, **more: Any) -> Any:
    """What is read of a server."""

    async def read(address: str) -> dict[str, Usage]:
        provider = UsageProvider(type="Prometheus", address=address, **more)
        reader = PrometheusUsage(provider, names)
        try:
            return (await reader.read()).found
        finally:
            await reader.close()

    return asyncio.run(prometheus.serve(read, tls))


BOTH = {
    CPU_QUERY: vector(**{"10_0_0_5": "1.5", "n2": "0.25", "stranger": "9"}),
    MEMORY_QUERY: vector(**{"10_0_0_5": str(GB)}),
}


def test_answers_are_told_to_nodes_by_name_and_by_address() -> None:
    found = usage(FakePrometheus(BOTH))

    assert found["n1"] == Usage(1500.0, float(GB), AT)
    assert found["n2"].cpu == 250.0
    assert math.isnan(found["n2"].memory)
    assert found.keys() == {"n1", "n2"}


def test_queries_and_label_are_arguments() -> None:
    answer = {"metric": {"node": "n2"}, "value": [AT, "2"]}
    data = {"resultType": "vector", "result": [answer]}
    answers = {"mine": {"status": "success", "data": data}}

    found = usage(FakePrometheus(answers), cpu_query="mine", memory_query="", node_label="node")

    assert (list(found), found["n2"].cpu) == (["n2"], 2000.0)


def test_temperature_and_power() -> None:
    answers = {TEMPERATURE_QUERY: vector(n1="71.5"), POWER_QUERY: vector(n2="180")}

    async def read(address: str) -> dict[str, Energy]:
        reader = PrometheusEnergy(EnergyProvider(type="Prometheus", address=address), names)
        try:
            return (await reader.read()).found
        finally:
            await reader.close()

    found = asyncio.run(FakePrometheus(answers).serve(read))

    assert (found["n1"].celsius, found["n2"].watts) == (71.5, 180.0)
    assert math.isnan(found["n1"].watts)


def test_what_is_no_number_is_not_known() -> None:
    answers = {CPU_QUERY: vector(n1="NaN", n2="+Inf"), MEMORY_QUERY: vector(n1="5")}

    found = usage(FakePrometheus(answers))

    assert found.keys() == {"n1"}
    assert math.isnan(found["n1"].cpu)


def test_a_token_is_read_from_its_file_each_time(tmp_path: Path) -> None:
    file = tmp_path / "token"
    file.write_text("old\n")

    with pytest.raises(FeedError, match="401: Unauthorized"):
        usage(FakePrometheus(BOTH, token="good"), bearer_token_file=str(file))
    file.write_text("good\n")
    assert usage(FakePrometheus(BOTH, token="good"), bearer_token_file=str(file))


def test_a_server_is_known_by_its_certificate(tmp_path: Path) -> None:
    tls = ServerTls(Certificates("", "", str(tmp_path)), "127.0.0.1")
    (certificate,) = tmp_path.glob("*.crt")

    with pytest.raises(FeedError, match="certificate"):
        usage(FakePrometheus(BOTH), tls)
    assert usage(FakePrometheus(BOTH), tls, insecure_skip_verify=True)
    assert usage(FakePrometheus(BOTH), tls, ca_file=str(certificate))


@pytest.mark.parametrize(
    ("answers", "want"),
    [
        pytest.param({}, "parse error in sum by", id="a query that Prometheus does not understand"),
        pytest.param(
            {CPU_QUERY: {"status": "success", "data": {"resultType": "scalar", "result": [1, "2"]}}}
            | {MEMORY_QUERY: vector()},
            "gives a scalar, where one value per node is needed",
            id="a query that gives one number",
        ),
        pytest.param(
            {CPU_QUERY: vector(stranger="1"), MEMORY_QUERY: vector()},
            "no answer speaks of a node by its name or address in the label 'instance'",
            id="answers about nobody here",
        ),
    ],
)
def test_what_is_wrong_is_said(answers: dict[str, Any], want: str) -> None:
    with pytest.raises(FeedError, match=want):
        usage(FakePrometheus(answers))


def test_a_server_that_is_not_there_or_does_not_answer() -> None:
    async def read() -> None:
        provider = UsageProvider(type="Prometheus", address="http://127.0.0.1:1")
        reader = PrometheusUsage(provider, names)
        try:
            await reader.read()
        finally:
            await reader.close()

    with pytest.raises(FeedError, match=r"127.0.0.1:1/api/v1/query: "):
        asyncio.run(read())

    class Silent(FakePrometheus):
        async def query(self, request: web.Request) -> web.Response:
            await asyncio.sleep(60)
            return web.Response()

    with pytest.raises(FeedError, match="no answer in time"):
        usage(Silent({}), timeout=Duration.parse("50ms"))


@pytest.mark.parametrize(
    ("said", "want"),
    [
        pytest.param("n2", "n2", id="a name"),
        pytest.param("n2:9100", "n2", id="a name and a port"),
        pytest.param("10.0.0.5", "n1", id="an address"),
        pytest.param("10.0.0.5:9100", "n1", id="an address and a port"),
        pytest.param("10.0.0.6:9100", None, id="an address of nobody"),
        pytest.param("", None, id="nothing"),
    ],
)
def test_who_is_meant(said: str, want: str | None) -> None:
    assert prometheus_feed.find_node_name(names(), said) == want


def test_ipv6_addresses_lose_their_brackets() -> None:
    assert prometheus_feed.without_port("[fd00::5]:9100") == "fd00::5"
    assert prometheus_feed.without_port("fd00::5") == "fd00::5"


def test_nobody_is_asked_whom_the_configuration_does_not_name() -> None:
    """An answer that leads elsewhere is not followed, and no token goes there."""
    asked: list[str] = []

    class Elsewhere(FakePrometheus):
        async def query(self, request: web.Request) -> web.Response:
            asked.append(str(request.url))
            return await super().query(request)

    async def lead(target: str) -> None:
        class Leading(FakePrometheus):
            async def query(self, request: web.Request) -> web.Response:
                raise web.HTTPTemporaryRedirect(f"{target}/api/v1/query")

        async def read(address: str) -> None:
            feed = PrometheusUsage(UsageProvider(address=address), names)
            try:
                with pytest.raises(FeedError):
                    await feed.read()
            finally:
                await feed.close()

        await Leading({}).serve(read)

    asyncio.run(Elsewhere({}).serve(lead))

    assert asked == []
