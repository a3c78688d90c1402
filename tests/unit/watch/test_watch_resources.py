import pytest

from moorage.api.kinds import KINDS
from moorage.watch.api_resources import RESOURCES


@pytest.mark.parametrize("name", KINDS)
def test_every_kind_that_scheduling_reads_is_a_resource(name: str) -> None:
    kind = KINDS[name]
    resource = RESOURCES[kind.plural]

    assert (resource.kind, resource.api_version, resource.namespaced) == (
        kind.name,
        kind.api_version,
        kind.namespaced,
    )


@pytest.mark.parametrize(
    ("plural", "args", "want"),
    [
        pytest.param("pods", ("", ""), "/api/v1/pods", id="core pods of all namespaces"),
        pytest.param("pods", ("a", ""), "/api/v1/namespaces/a/pods", id="pods of one namespace"),
        pytest.param("pods", ("a", "b"), "/api/v1/namespaces/a/pods/b", id="one pod"),
        pytest.param("nodes", ("a", "b"), "/api/v1/nodes/b", id="a node is in no namespace"),
        pytest.param(
            "leases",
            ("a", "b"),
            "/apis/coordination.k8s.io/v1/namespaces/a/leases/b",
            id="a group has its own root",
        ),
        pytest.param(
            "pods",
            ("a/../b", "x HTTP/1.1\r\n\r\nDELETE /api/v1?a#b"),
            "/api/v1/namespaces/a%2F..%2Fb/pods/x%20HTTP%2F1.1%0D%0A%0D%0ADELETE%20%2Fapi%2Fv1%3Fa%23b",
            id="a name is a name, whatever is in it",
        ),
    ],
)
def test_path(plural: str, args: tuple[str, str], want: str) -> None:
    assert RESOURCES[plural].path(*args) == want


def test_a_subresource_follows_the_name() -> None:
    assert RESOURCES["pods"].path("a", "b", "binding") == "/api/v1/namespaces/a/pods/b/binding"


@pytest.mark.parametrize(
    ("plural", "want"),
    [
        pytest.param("pods", "pods", id="core resources go by their plural"),
        pytest.param("csinodes", "csinodes.storage.k8s.io", id="others carry their group"),
    ],
)
def test_qualified(plural: str, want: str) -> None:
    assert RESOURCES[plural].qualified == want


def test_keys_are_those_of_decoded_objects() -> None:
    assert RESOURCES["pods"].key("a", "b") == "a/b"
    assert RESOURCES["nodes"].key("a", "b") == "b"


def test_pods_come_after_all_they_refer_to() -> None:
    order = list(RESOURCES)

    for earlier in (
        "namespaces",
        "priorityclasses",
        "nodes",
        "persistentvolumeclaims",
        "podgroups",
    ):
        assert order.index(earlier) < order.index("pods")


def test_one_object_is_listed_and_watched_by_its_name_in_its_namespace() -> None:
    """So that a Role may allow just that one, by resourceNames."""
    one = RESOURCES["configmaps"].one("shop/rules")

    assert (one.path(), one.selector) == (
        "/api/v1/namespaces/shop/configmaps",
        "metadata.name=rules",
    )
    assert one.whole == RESOURCES["configmaps"]
