"""ConfigMaps of the cluster: read once, then followed."""

import asyncio
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import pytest

from moorage.app.config_sources import ConfigMapRef, ConfigMaps
from moorage.clock import VirtualClock, run_virtual
from moorage.config.field_errors import InputError
from moorage.memory.memory_cluster import MemoryCluster
from moorage.watch.api_errors import ApiError, Forbidden, Unreachable
from moorage.watch.api_resources import RESOURCES, Resource

CONFIG_MAPS = RESOURCES["configmaps"]
RULES = ConfigMapRef("shop", "rules")


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "shop"}, "data": data}


class Moody(MemoryCluster):
    """An API server that refuses the first requests for one object."""

    refusals: list[ApiError] = []  # noqa: RUF012 set by each test

    async def get(self, resource: Resource, namespace: str, name: str) -> dict[str, Any]:
        if self.refusals:
            raise self.refusals.pop(0)
        return await super().get(resource, namespace, name)


@pytest.fixture
def clock() -> VirtualClock:
    return VirtualClock(1000.0)


@pytest.fixture
def cluster(clock: VirtualClock) -> Moody:
    made = Moody(clock=clock, rng=random.Random(1))
    made.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}})
    made.refusals = []
    return made


def fetch(cluster: Moody, clock: VirtualClock, *refs: ConfigMapRef) -> tuple[ConfigMaps, list[str]]:
    failures: list[str] = []
    found = ConfigMaps(refs)
    fetching = found.fetch(cluster, clock, lambda what, error: failures.append(what))
    run_virtual(fetching, clock)
    return found, failures


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("shop/rules", RULES, id="all texts of a ConfigMap"),
        pytest.param("shop/rules:a.yaml", ConfigMapRef("shop", "rules", "a.yaml"), id="one text"),
        pytest.param("rules", None, id="without a namespace"),
        pytest.param("shop/", None, id="without a name"),
        pytest.param("a/b/c", None, id="too many parts"),
    ],
)
def test_parse(text: str, want: ConfigMapRef | None) -> None:
    if want is not None:
        assert ConfigMapRef.parse(text) == want
        assert str(want) == text
        return
    with pytest.raises(InputError, match="write NAMESPACE/NAME"):
        ConfigMapRef.parse(text)


def test_the_texts_are_those_of_the_cluster(cluster: Moody, clock: VirtualClock) -> None:
    cluster.add(CONFIG_MAPS, config_map("rules", a="1", b="2"))
    found, _ = fetch(cluster, clock, RULES, ConfigMapRef("shop", "rules", "b"))
    whole, part = found.read()

    assert whole.source == "ConfigMap shop/rules"
    assert [text.content["data"] for text in (whole, part)] == [{"a": "1", "b": "2"}, {"b": "2"}]  # type: ignore[call-overload]


def test_what_is_not_there_is_named_with_what_to_do(cluster: Moody, clock: VirtualClock) -> None:
    cluster.add(CONFIG_MAPS, config_map("rules", a="1"))
    found, _ = fetch(
        cluster, clock, ConfigMapRef("shop", "none"), ConfigMapRef("shop", "rules", "c")
    )
    with pytest.raises(InputError) as caught:
        found.read()

    assert str(caught.value).splitlines() == [
        "--config-map shop/none: there is no such ConfigMap: create it",
        '--config-map shop/rules:c: no key "c"; there are: a',
    ]


def test_a_server_that_does_not_answer_is_asked_again(cluster: Moody, clock: VirtualClock) -> None:
    cluster.refusals = [Unreachable("connection refused"), Unreachable("connection refused")]
    cluster.add(CONFIG_MAPS, config_map("rules", a="1"))
    found, failures = fetch(cluster, clock, RULES)

    assert len(found.read()) == 1
    assert failures == ["shop/rules", "shop/rules"]


def test_a_server_that_forbids_it_is_not(cluster: Moody, clock: VirtualClock) -> None:
    cluster.refusals = [Forbidden("configmaps is forbidden")]
    with pytest.raises(InputError, match="--config-map shop/rules: configmaps is forbidden"):
        fetch(cluster, clock, RULES)


def test_each_change_is_followed_and_those_of_others_are_not(
    cluster: Moody, clock: VirtualClock
) -> None:
    found = ConfigMaps([RULES])

    async def until(following: AsyncGenerator[None, None]) -> Any:
        await anext(following)
        known = found.known[RULES]
        return None if known is None else dict(known.data)

    async def main() -> list[Any]:
        cluster.add(CONFIG_MAPS, config_map("rules", a="1"))
        cluster.add(CONFIG_MAPS, config_map("other", a="1"))
        follow = found.follow(RULES, cluster, clock, random.Random(0), lambda *_: None)
        async with aclosing(follow) as following:
            seen = [await until(following)]
            await cluster.patch(CONFIG_MAPS, "shop", "other", {"data": {"a": "2"}})
            await cluster.patch(CONFIG_MAPS, "shop", "rules", {"data": {"a": "2"}})
            seen.append(await until(following))
            await cluster.delete(CONFIG_MAPS, "shop", "rules")
            seen.append(await until(following))
            return seen

    assert asyncio.run(main()) == [{"a": "1"}, {"a": "2"}, None]
