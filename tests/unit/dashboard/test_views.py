"""Every view of the dashboard tells what the scheduler did and believes."""

from typing import Any

import msgspec
import pytest

from moorage.dashboard.queue_view import QueueView
from moorage.testing import PodBuilder, node, pod
from tests.unit.dashboard.shown import Finished, asking, finished, get

EVIL = "<img onerror=alert(1)>"
GANG = {
    "apiVersion": "scheduling.x-k8s.io/v1alpha1",
    "kind": "PodGroup",
    "metadata": {"name": "train", "namespace": "default"},
    "spec": {"minMember": 3},
}


def quota(namespace: str, cpu: str) -> dict[str, Any]:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": "team", "namespace": namespace},
        "spec": {"min": {"cpu": cpu}, "max": {"cpu": "100"}},
    }


@pytest.fixture(scope="module")
def run() -> Finished:
    """Two pods placed, one that fits nowhere, one gated, one of a gang that is not whole."""
    return finished(
        node("a").offering(cpu="2", memory="8Gi").in_zone("z1").labelled(tier="front"),
        node("b").offering({"cpu": "2", "memory": "8Gi", "nvidia.com/gpu": "2"}).in_zone("z2"),
        node("c").offering(cpu="1").cordoned(),
        GANG,
        quota("default", "1"),
        quota("idle", "50"),
        pod("one").requesting(cpu="1500m").annotated({"note": EVIL}),
        pod("two").requesting({"cpu": "1", "nvidia.com/gpu": "1"}),
        pod("huge").requesting(cpu="16").prioritised(7),
        pod("gated").gated("example.com/wait"),
        pod("member").labelled({"scheduling.x-k8s.io/pod-group": "train"}),
    )


def test_about_tells_which_process_this_is_and_that_time_stands_still(run: Finished) -> None:
    told = get(run.sources, "about")

    assert (told["mode"], told["live"], told["profiles"]) == (
        "simulate",
        False,
        ["default-scheduler"],
    )
    assert told["now"] == 1_800_000_030.0
    assert told["can"]["explain"] is True


def test_the_cluster_has_a_column_of_everything(run: Finished) -> None:
    told = get(run.sources, "cluster?label=tier")

    nodes = told["nodes"]
    rows = {name: row for row, name in enumerate(nodes["name"])}
    assert sorted(rows) == ["a", "b", "c"]
    assert {len(column) for column in nodes.values()} == {3}
    assert nodes["zone"][rows["a"]] == "z1"
    assert nodes["label"][rows["a"]] == "front"
    assert nodes["pods"][rows["a"]] == 1
    assert nodes["cpu"][rows["a"]] == nodes["allocation"][rows["a"]] == 0.75
    assert (nodes["cores"][rows["a"]], nodes["gib"][rows["a"]]) == (2.0, 8.0)
    assert nodes["gpu"][rows["b"]] == 0.5
    assert nodes["gpu"][rows["a"]] is None
    assert nodes["tenant"][rows["b"]] == "default"
    assert nodes["tainted"][rows["c"]] is True
    assert [nodes["ready"][rows[name]] for name in "abc"] == [True, True, False]
    assert "tier" in told["labels"]


def test_the_cluster_is_coloured_by_what_nodes_say_of_a_pod(run: Finished) -> None:
    told = get(run.sources, "cluster?pod=default/huge")

    by_name = dict(zip(told["nodes"]["name"], told["nodes"]["verdict"], strict=True))
    verdicts = told["verdicts"]
    assert verdicts[0]["nodes"] == 0
    assert verdicts[by_name["a"]] == {
        "text": "Insufficient cpu",
        "plugin": "NodeResourcesFit",
        "nodes": 2,
    }
    assert verdicts[by_name["c"]]["plugin"] == "NodeUnschedulable"


def test_a_node_has_room_pods_devices_and_refusals(run: Finished) -> None:
    told = get(run.sources, "node/b")

    assert told["room"]["cpu"] == {"allocatable": "2", "requested": "1", "free": "1"}
    assert [each["pod"] for each in told["pods"]] == ["default/two"]
    assert told["pods"][0]["requests"]["nvidia.com/gpu"] == "1"
    assert told["gpus"] == [
        {"index": 0, "milli_used": 1000, "pods": ["default/two"]},
        {"index": 1, "milli_used": 0, "pods": []},
    ]
    assert {"reason": "Insufficient cpu", "plugin": "NodeResourcesFit", "pods": 1} in told[
        "refuses"
    ]


def test_the_queue_tells_who_waits_where_and_why(run: Finished) -> None:
    told = get(run.sources, "queue")

    assert told["counts"]["unschedulable"] == 1
    assert told["counts"]["gated"] == 2
    items = {each["pod"]: each for each in told["items"]}
    assert items["default/huge"]["reason"].startswith("0/3 nodes are available: ")
    assert items["default/huge"]["place"] == 1
    assert items["default/huge"]["priority"] == 7
    assert items["default/gated"]["state"] == "gated"
    assert items["default/member"]["group"] == "default/train"
    (gang,) = told["gangs"]
    assert (gang["members"], gang["min_member"], gang["bound"]) == (1, 3, 0)
    assert "waiting for 2 more pods" in gang["reason"]
    tenant, idle = told["tenants"]
    assert (tenant["fair_share"], idle["fair_share"]) == (0.5, 0.0)
    assert idle["borrowed"] == {}
    assert tenant["quota"]["cpu"] == {"min": 1.0, "max": 100.0, "used": 2.5}
    assert tenant["borrowed"] == {"cpu": 1.5}


@pytest.mark.parametrize(
    ("query", "want"),
    [
        pytest.param("state=gated", {"default/gated", "default/member"}, id="by state"),
        pytest.param("q=hug", {"default/huge"}, id="by a part of the name"),
        pytest.param("namespace=other", set(), id="by namespace"),
        pytest.param("limit=1&continue=0", {"default/huge"}, id="the first"),
        pytest.param("limit=1&continue=2", {"default/member"}, id="the last"),
    ],
)
def test_the_queue_is_filtered_and_paged(run: Finished, query: str, want: set[str]) -> None:
    assert {each["pod"] for each in get(run.sources, f"queue?{query}")["items"]} == want


def test_a_reason_that_is_folded_finds_its_pods_again(run: Finished) -> None:
    (most, *_) = [
        each
        for each in get(run.sources, "queue")["reasons"]
        if "NodeResourcesFit" in each["reason"]
    ]

    found = get(run.sources, f"queue?reason={most['reason']}")

    assert [each["pod"] for each in found["items"]] == ["default/huge"]


def test_pods_without_a_reason_are_no_reason_why_others_wait(
    run: Finished, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert all(each["pods"] for each in get(run.sources, "queue")["reasons"])
    monkeypatch.setattr(QueueView, "_short_reason", lambda *_: "")

    assert get(run.sources, "queue")["reasons"] == []


def test_decisions_come_newest_first_with_rates_steps_and_a_timeline(run: Finished) -> None:
    told = get(run.sources, "decisions?limit=2")

    assert [each["number"] for each in told["items"]] == [3, 2]
    assert told["continue"] == "2"
    rest = get(run.sources, f"decisions?before={told['continue']}")
    assert [each["number"] for each in rest["items"]] == [1]
    assert {each["step"] for each in told["steps"]} >= {"Filter", "Score"}
    assert any(each["plugin"] == "NodeResourcesFit" for each in told["steps"])
    assert sum(each["placed"] for each in told["timeline"]) == 2
    assert sum(each["refused"] for each in told["timeline"]) == 1


@pytest.mark.parametrize(
    ("query", "pods"),
    [
        pytest.param("result=unschedulable", ["default/huge"], id="by result"),
        pytest.param("pod=default/one", ["default/one"], id="by pod"),
        pytest.param("node=b", ["default/two"], id="by node"),
        pytest.param("at=1799999999", [], id="before anything was decided"),
    ],
)
def test_decisions_are_filtered(run: Finished, query: str, pods: list[str]) -> None:
    assert [each["pod"] for each in get(run.sources, f"decisions?{query}")["items"]] == pods


def test_a_pod_has_its_story(run: Finished) -> None:
    told = get(run.sources, "pod/default/huge")

    assert told["state"] == "unschedulable"
    assert [each["result"] for each in told["attempts"]] == ["unschedulable"]
    assert told["queue"]["attempts"] == 1
    assert told["requests"] == {"cpu": "16"}
    assert "in flight → unschedulable" in [each["message"] for each in told["events"]]
    assert told["explanation"] is None


def test_a_pod_is_explained_where_somebody_asks(run: Finished) -> None:
    told = get(run.sources, "pod/default/huge?explain=1")
    off = get(run.sources._replace(explain=None), "pod/default/huge?explain=1")

    assert told["explanation"] == {"state": "pending", "pod": "default/huge"}
    assert "--enable-explain" in off["explain_off"]


def test_a_pod_that_is_placed_says_where(run: Finished) -> None:
    told = get(run.sources, "pod/default/one")

    assert (told["state"], told["node"]) == ("bound", "a")
    assert told["attempts"][-1]["scores"]


def test_a_pod_that_makes_room_says_where_and_who_leaves() -> None:
    slow = pod("small").requesting(cpu="2").with_spec(terminationGracePeriodSeconds=600)
    run = finished(
        node("a").offering(cpu="2", pods="10"),
        slow.on("a"),
        pod("great").requesting(cpu="2").prioritised(100),
    )

    told = get(run.sources, "pod/default/great")["preemption"]

    assert (told["for"], told["node"]) == ("default/great", "a")
    assert (told["victims"], told["victim_count"]) == (["default/small"], 1)


def fleeting(name: str, cpu: str) -> PodBuilder:
    """A pod on node a that is gone at once when it is deleted."""
    return pod(name).requesting(cpu=cpu).on("a").with_spec(terminationGracePeriodSeconds=0)


def test_once_victims_are_gone_their_pages_and_the_preemptors_tell_who_left_for_whom() -> None:
    run = finished(
        node("a").offering(cpu="2", pods="10"),
        *(fleeting(name, "1") for name in ("small", "slim")),
        pod("great").requesting(cpu="2").prioritised(100),
    )

    great, small = get(run.sources, "pod/default/great"), get(run.sources, "pod/default/small")

    assert (great["state"], great["node"]) == ("bound", "a")
    assert sorted((each["pod"], each["node"]) for each in great["victims"]) == [
        ("default/slim", "a"),
        ("default/small", "a"),
    ]
    assert great["left_for"] == small["victims"] == []
    assert (small["state"], small["attempts"]) == ("gone", [])
    (told,) = small["left_for"]
    when = great["attempts"][0]["time"]
    assert when <= told.pop("time") <= when + 1
    assert told == {
        "by": "default/great", "what": "pod", "node": "a", "room_on": "a", "priority": 0,
        "by_priority": 100, "way": "deletion", "earlier": False,
        "why": "default-scheduler: preempting to accommodate a higher priority pod",
    }  # fmt: skip


def test_what_befell_an_earlier_pod_of_the_same_name_is_told_as_such() -> None:
    run = finished(
        node("a").offering(cpu="2", pods="10"),
        fleeting("small", "2"),
        pod("great").requesting(cpu="2").prioritised(100),
    )
    (left,) = run.records.evictions.of_victim("default/small")
    run.records.evicted(msgspec.structs.replace(left, pod="default/great", uid="before", by="a/b"))
    before = {"by_uid": "before", "time": left.time - 60}
    run.records.evicted(msgspec.structs.replace(left, pod="default/slim", **before))

    great = get(run.sources, "pod/default/great")

    assert [each["earlier"] for each in great["left_for"]] == [True]
    assert [(each["pod"], each["earlier"]) for each in great["victims"]] == [
        ("default/small", False),
        ("default/slim", True),
    ]


def test_a_pod_of_a_gang_names_the_victims_of_its_gang() -> None:
    labels = {"scheduling.x-k8s.io/pod-group": "train"}
    run = finished(
        node("a").offering(cpu="3", pods="10"),
        GANG,
        fleeting("small", "1"),
        *(
            pod(f"t{each}").requesting(cpu="1").prioritised(100).labelled(labels)
            for each in range(3)
        ),
    )

    told, left = get(run.sources, "pod/default/t1"), get(run.sources, "pod/default/small")

    assert [(each["pod"], each["what"]) for each in told["victims"]] == [
        ("default/small", "podgroup")
    ]
    assert [(each["by"], each["by_priority"]) for each in left["left_for"]] == [
        ("default/train", None)
    ]


def test_who_leaves_with_its_gang_says_where_the_room_is() -> None:
    labels = {"scheduling.x-k8s.io/pod-group": "train"}
    gang = [fleeting(f"t{each}", "1").labelled(labels) for each in range(3)]
    run = finished(
        node("a").offering(cpu="2", pods="10"),
        node("b").offering(cpu="1", pods="10"),
        GANG,
        *gang[:2],
        gang[2].on("b"),
        pod("great").requesting(cpu="2").prioritised(100),
    )

    told = get(run.sources, "pod/default/great")["victims"]

    assert sorted((each["pod"], each["node"], each["room_on"]) for each in told) == [
        ("default/t0", "a", "a"),
        ("default/t1", "a", "a"),
        ("default/t2", "b", "a"),
    ]
    assert get(run.sources, "pod/default/t2")["left_for"][0]["room_on"] == "a"


def test_plugins_have_points_and_costs(run: Finished) -> None:
    told = get(run.sources, "compare")

    fit = next(each for each in told["plugins"] if each["name"] == "NodeResourcesFit")
    assert {"filter", "score"} <= set(fit["points"])
    assert fit["cost_ms_per_attempt"] > 0
    assert fit["breaker"] == ""
    assert told["canaries"] == []
    assert told["shadow"] is None


@pytest.mark.parametrize(
    ("path", "status", "words"),
    [
        pytest.param("pod/default/nobody", 404, "no pod default/nobody", id="no such pod"),
        pytest.param("node/nowhere", 404, "no node nowhere", id="no such node"),
        pytest.param("cluster?pod=a/b", 404, "no pod a/b", id="nothing to colour by"),
        pytest.param("queue?limit=many", 400, "limit=many: not a number", id="not a number"),
        pytest.param("decisions?before=x", 400, "before=x", id="not a number of a record"),
        pytest.param("decisions?at=noon", 400, "at=noon: not a moment", id="not a moment"),
        pytest.param("stream?views=all", 400, "views=all: one of cluster", id="no such view"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(
    run: Finished, path: str, status: int, words: str
) -> None:
    found, text = asking(run.sources, lambda asker: asker.refused(path))

    assert (found, words in text) == (status, True)


def test_what_is_hostile_stays_data_and_annotations_are_not_shown(run: Finished) -> None:
    evil = finished(
        node("n").labelled(team=EVIL).offering(cpu="4"),
        pod("bad", "ns").annotated({"secret": EVIL}).requesting(cpu="1"),
        pod("stuck", "ns").gated(EVIL),
    )

    async def all_of(asker: Any) -> list[str]:
        paths = ("cluster?label=team", "node/n", "queue", "decisions", "pod/ns/bad")
        texts = []
        for path in paths:
            async with asker.session.get(f"{asker.url}/dashboard/api/{path}") as answer:
                assert answer.content_type == "application/json"
                assert answer.headers["X-Content-Type-Options"] == "nosniff"
                assert answer.headers["Cache-Control"] == "no-store"
                texts.append(await answer.text())
        return texts

    cluster, shown, queue, decisions, story = asking(evil.sources, all_of)

    assert EVIL in cluster
    assert EVIL in shown
    assert EVIL not in story
    assert EVIL not in decisions
    assert "secret" not in shown + queue + decisions + story


def test_looking_changes_nothing(run: Finished) -> None:
    table, attempts = run.scheduler.cache.table, run.scheduler.attempts
    before = table.usage_log.version, table.node_log.version, run.records.count

    for path in ("cluster?pod=default/huge", "node/a", "queue", "decisions", "pod/default/huge"):
        get(run.sources, path)

    assert (table.usage_log.version, table.node_log.version, run.records.count) == before
    assert run.scheduler.attempts == attempts
    run.scheduler.queue.validate()
