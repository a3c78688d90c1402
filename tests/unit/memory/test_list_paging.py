import asyncio
from collections.abc import Iterator

import pytest

from moorage.memory.memory_cluster import MemoryCluster
from moorage.memory.object_registry import ClusterOptions
from moorage.watch.api_errors import BadRequest, Gone, VersionTooLarge
from moorage.watch.api_resources import NODES, PODS
from moorage.watch.api_server import Page


def with_nodes(*names: str, options: ClusterOptions | None = None) -> MemoryCluster:
    cluster = MemoryCluster(options=options)
    for name in names:
        cluster.add(NODES, {"metadata": {"name": name}})
    return cluster


def page(cluster: MemoryCluster, limit: int = 0, token: str = "", version: str = "") -> Page:
    return asyncio.run(
        cluster.list_page(NODES, limit=limit, continue_token=token, resource_version=version)
    )


def names(*pages: Page) -> list[str]:
    return [item.name for page in pages for item in page.items]


def test_a_list_is_in_the_order_of_keys() -> None:
    assert names(page(with_nodes("b", "c", "a"))) == ["a", "b", "c"]


def test_namespaces_and_names_sort_as_one_key() -> None:
    cluster = MemoryCluster()
    for namespace in ("a", "a-b"):
        spec = {"containers": [{"name": "c"}]}
        cluster.add(PODS, {"metadata": {"name": "x", "namespace": namespace}, "spec": spec})

    assert [pod.key for pod in cluster.objects(PODS)] == ["a-b/x", "a/x"]


def test_a_list_has_the_version_of_the_store() -> None:
    cluster = with_nodes("a")

    assert page(cluster).resource_version == str(cluster.resource_version)


def test_pages_show_the_objects_as_they_were_at_the_first() -> None:
    cluster = with_nodes("a", "b", "c", "d")
    first = page(cluster, limit=2)

    asyncio.run(cluster.delete(NODES, "", "c"))
    cluster.add(NODES, {"metadata": {"name": "bb"}})
    second = page(cluster, limit=2, token=first.continue_token)

    assert names(first, second) == ["a", "b", "c", "d"]
    assert second.resource_version == first.resource_version
    assert second.continue_token == ""


@pytest.mark.parametrize("limit", range(1, 8))
def test_pages_of_any_size_add_up_to_the_list(limit: int) -> None:
    cluster = with_nodes(*"abcdefg")

    def pages() -> Iterator[Page]:
        token = ""
        while True:
            yield (each := page(cluster, limit, token))
            token = each.continue_token
            if not token:
                return

    every = list(pages())

    assert names(*every) == list("abcdefg")
    assert all(len(each.items) <= limit for each in every)


def test_two_lists_at_the_same_version_do_not_disturb_each_other() -> None:
    cluster = with_nodes("a", "b")
    one, two = page(cluster, limit=1), page(cluster, limit=1)

    page(cluster, limit=1, token=one.continue_token)

    assert names(page(cluster, limit=1, token=two.continue_token)) == ["b"]


def test_a_token_expires_when_its_changes_are_no_longer_kept() -> None:
    cluster = with_nodes("a", "b", options=ClusterOptions(history=2))
    first = page(cluster, limit=1)

    for name in ("c", "d", "e"):
        cluster.add(NODES, {"metadata": {"name": name}})

    with pytest.raises(Gone, match="continue parameter is too old"):
        page(cluster, limit=1, token=first.continue_token)


def test_the_oldest_of_too_many_lists_expires() -> None:
    cluster = with_nodes("a", "b", options=ClusterOptions(snapshots=1))
    first, second = page(cluster, limit=1), page(cluster, limit=1)

    with pytest.raises(Gone):
        page(cluster, limit=1, token=first.continue_token)
    assert names(page(cluster, token=second.continue_token)) == ["b"]


@pytest.mark.parametrize("token", ["!", "e30=", "ï"])
def test_a_token_that_is_none_is_refused(token: str) -> None:
    with pytest.raises(BadRequest, match="continue key is not valid"):
        page(with_nodes("a"), token=token)


def test_a_version_in_the_future_is_refused() -> None:
    with pytest.raises(VersionTooLarge, match=r"Too large resource version: 999, current: \d+"):
        page(with_nodes("a"), version="999")


def test_a_version_that_is_no_number_is_refused() -> None:
    with pytest.raises(BadRequest, match='"new"'):
        page(with_nodes("a"), version="new")
