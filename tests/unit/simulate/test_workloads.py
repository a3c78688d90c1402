"""Workloads become pods, as the real controllers make them, and no others."""

import copy
from typing import Any

import pytest

from moorage.api.pod import Pod
from moorage.memory import manifest_loader
from moorage.simulate.simulation import pods_of
from moorage.simulate.simulation_report import build_report
from moorage.testing import node
from tests.unit.simulate.embedded_runs import Raw, places, run

LABELS = {"app": "web"}


def workload(kind: str, api: str = "apps/v1", name: str = "web", **spec: Any) -> Raw:
    template = {
        "metadata": {"labels": LABELS},
        "spec": {
            "containers": [{"name": "c", "image": "i"}],
            **({"restartPolicy": "Never"} if kind == "Job" else {}),
            **spec.pop("pod", {}),
        },
    }
    selector: Any = {"matchLabels": LABELS} if api == "apps/v1" else LABELS
    return {
        "apiVersion": api,
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "template": template,
            **({} if kind == "Job" else {"selector": selector}),
            **spec,
        },
    }


def names(*objects: Any) -> list[str]:
    return sorted(places(run(node("a"), node("b"), *objects)))


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(workload("ReplicaSet"), 1, id="a ReplicaSet without a number has one"),
        pytest.param(workload("ReplicaSet", replicas=None), 1, id="null is no number"),
        pytest.param(workload("ReplicaSet", replicas=0), 0, id="none is none"),
        pytest.param(workload("ReplicaSet", replicas=3), 3, id="three are three"),
        pytest.param(workload("Deployment", replicas=None), 1, id="a Deployment likewise"),
        pytest.param(workload("Deployment", replicas=3), 3, id="three of a Deployment"),
        pytest.param(
            workload("StatefulSet", replicas=2, serviceName="s"), 2, id="two of a StatefulSet"
        ),
        pytest.param(
            workload("ReplicationController", "v1", replicas=2),
            2,
            id="two of a ReplicationController",
        ),
        pytest.param(workload("Job", "batch/v1"), 1, id="a Job has one"),
        pytest.param(workload("Job", "batch/v1", parallelism=3), 3, id="as many as are parallel"),
        pytest.param(
            workload("Job", "batch/v1", parallelism=3, completions=2), 2, id="but not more"
        ),
        pytest.param(workload("Job", "batch/v1", suspend=True), 0, id="none while suspended"),
        pytest.param(workload("Job", "batch/v1", parallelism=0), 0, id="none if none is asked for"),
    ],
)
def test_how_many_pods(given: Raw, want: int) -> None:
    assert len(names(given)) == want


def test_a_finished_job_makes_no_pods() -> None:
    job = workload("Job", "batch/v1")
    job["status"] = {"conditions": [{"type": "Complete", "status": "True"}], "succeeded": 1}

    assert names(job) == []


def test_an_indexed_job_numbers_its_pods() -> None:
    job = workload("Job", "batch/v1", parallelism=2, completions=2, completionMode="Indexed")
    ended = run(node("a"), job)

    key = "batch.kubernetes.io/job-completion-index"
    assert sorted(pod.annotations[key] for pod in pods_of(ended)) == ["0", "1"]


def test_pods_of_a_deployment_carry_the_hash_of_its_template() -> None:
    (found,) = pods_of(run(node("a"), workload("Deployment")))

    assert found.name == f"web-{found.labels['pod-template-hash']}-0"
    assert found.metadata.owner_references[0].kind == "ReplicaSet"


def test_a_workload_may_ask_for_its_name_to_be_generated() -> None:
    given = workload("Deployment", replicas=2)
    given["metadata"] = {"generateName": "web-"}

    assert len(names(given)) == 2


@pytest.mark.parametrize("api", ["batch.volcano.sh/v1alpha1", "example.com/v1"])
def test_another_groups_job_is_no_job(api: str) -> None:
    assert manifest_loader.find_resource(workload("Job", api)) is None


class TestStatefulSet:
    def test_a_claim_template_takes_the_place_of_a_volume_of_its_name(self) -> None:
        claim = {
            "metadata": {"name": "data"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            },
        }
        volumes = [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]
        given = workload(
            "StatefulSet", serviceName="s", volumeClaimTemplates=[claim], pod={"volumes": volumes}
        )
        (found,) = pods_of(run(node("a"), given))

        assert [volume.name for volume in found.spec.volumes] == ["data", "tmp"]
        claimed = found.spec.volumes[0].persistent_volume_claim
        assert claimed is not None
        assert claimed.claim_name == "data-web-0"

    def test_ordinals_begin_where_they_are_told_to(self) -> None:
        given = workload("StatefulSet", serviceName="s", replicas=2, ordinals={"start": 5})

        assert names(given) == ["web-5", "web-6"]

    def test_null_volumes_are_none(self) -> None:
        given = workload("StatefulSet", serviceName="s", pod={"volumes": None})

        assert names(given) == ["web-0"]


TAINT = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
AFFINITY = {
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}
            ]
        }
    }
}


class TestDaemonSet:
    @pytest.mark.parametrize(
        ("spec", "want"),
        [
            pytest.param({}, {"plain", "ssd", "cordoned", "pressed"}, id="not on tainted nodes"),
            pytest.param({"nodeSelector": {"disk": "ssd"}}, {"ssd"}, id="by nodeSelector"),
            pytest.param({"affinity": AFFINITY}, {"ssd"}, id="by required node affinity"),
            pytest.param(
                {"tolerations": [{"key": "gpu", "operator": "Exists"}]},
                {"plain", "ssd", "cordoned", "pressed", "gpu"},
                id="on tainted nodes too, if tolerated",
            ),
            pytest.param({"nodeName": "plain"}, {"plain"}, id="by nodeName"),
            pytest.param(
                {"hostNetwork": True},
                {"plain", "ssd", "cordoned", "pressed", "unwired"},
                id="without a network, for pods of the host's",
            ),
        ],
    )
    def test_a_pod_for_every_node_that_fits(self, spec: Raw, want: set[str]) -> None:
        nodes = [
            node("plain"),
            node("ssd").labelled(disk="ssd"),
            node("gpu").tainted(TAINT["key"], TAINT["value"], TAINT["effect"]),
            node("cordoned").cordoned(),
            node("pressed").tainted("node.kubernetes.io/memory-pressure", "", "NoSchedule"),
            node("unwired").tainted("node.kubernetes.io/network-unavailable", "", "NoSchedule"),
        ]
        found = places(run(*nodes, workload("DaemonSet", pod=spec)))

        assert set(found) == {f"web-{name}" for name in want}
        assert all(name == f"web-{where}" for name, where in found.items())

    def test_its_pods_are_pinned_by_affinity_and_keep_their_preferences(self) -> None:
        preferred = [{"weight": 1, "preference": AFFINITY_TERM}]
        wish = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
        (found,) = pods_of(
            run(node("a"), workload("DaemonSet", pod={"affinity": {"nodeAffinity": wish}}))
        )

        assert found.spec.affinity is not None
        mine = found.spec.affinity.node_affinity
        assert mine is not None
        required = mine.required_during_scheduling_ignored_during_execution
        assert required is not None
        (term,) = required.node_selector_terms
        assert [(f.key, f.values) for f in term.match_fields] == [("metadata.name", ("a",))]
        assert len(mine.preferred_during_scheduling_ignored_during_execution) == 1


AFFINITY_TERM = {"matchExpressions": [{"key": "disk", "operator": "Exists"}]}


def dump(*objects: Any) -> list[Raw]:
    """What `kubectl get all` would print after these objects were scheduled."""
    ended = run(node("a"), node("b"), *objects, seed=1)
    store = ended.cluster.registry.store
    kinds = ("deployments", "replicasets", "statefulsets", "daemonsets", "jobs", "pods")
    return [
        copy.deepcopy(entry.raw)
        for table in store.tables()
        if table.resource.plural in kinds
        for entry in table.in_order()
    ]


class TestDump:
    @pytest.mark.parametrize(
        "given",
        [
            workload("Deployment", replicas=3),
            workload("ReplicaSet", replicas=3),
            workload("StatefulSet", serviceName="s", replicas=3),
            workload("DaemonSet"),
            workload("Job", "batch/v1", parallelism=2),
        ],
        ids=lambda given: given["kind"],
    )
    @pytest.mark.parametrize("lost", ["nothing", "uids"])
    def test_owners_whose_pods_are_there_are_not_expanded_again(
        self, given: Raw, lost: str
    ) -> None:
        first = dump(given)
        if lost == "uids":
            for raw in first:
                raw["metadata"].pop("uid")

        again = run(node("a"), node("b"), *first)

        pods = {raw["metadata"]["name"] for raw in first if raw["kind"] == "Pod"}
        assert set(places(again)) == pods
        assert {pod.state for pod in build_report(again).pods} == {"bound"}

    def test_a_deployment_and_its_pods_without_the_replica_set(self) -> None:
        first = [
            raw for raw in dump(workload("Deployment", replicas=3)) if raw["kind"] != "ReplicaSet"
        ]

        assert len(places(run(node("a"), *first))) == 3

    def test_old_replica_sets_stay_empty(self) -> None:
        first = dump(workload("Deployment", replicas=2))
        (current,) = (raw for raw in first if raw["kind"] == "ReplicaSet")
        old = copy.deepcopy(current)
        old["metadata"].update(name="web-old", uid="old")
        old["metadata"]["annotations"]["deployment.kubernetes.io/revision"] = "0"
        old["spec"]["replicas"] = 0

        assert len(places(run(node("a"), *first, old))) == 2

    def test_a_deployment_that_was_scaled_gets_the_difference(self) -> None:
        first = dump(workload("Deployment", replicas=2))
        for raw in first:
            if raw["kind"] == "Deployment":
                raw["spec"]["replicas"] = 5

        ended = run(node("a"), node("b"), *first)

        counts = build_report(ended).counts
        assert counts == {"bound": 2, "placed": 3}

    def test_a_deployment_that_was_scaled_down_loses_some(self) -> None:
        first = dump(workload("Deployment", replicas=3))
        for raw in first:
            if raw["kind"] == "Deployment":
                raw["spec"]["replicas"] = 1

        assert len(places(run(node("a"), node("b"), *first))) == 1

    def test_finished_pods_and_pods_on_unknown_nodes_are_what_they_are(self) -> None:
        pods = [_pod("done", "a", "Succeeded"), _pod("failed", "a", "Failed"), _pod("far", "gone")]
        report = build_report(run(node("a"), *pods, _pod("new", "")))

        assert {pod.name: pod.state for pod in report.pods} == {
            "done": "finished",
            "failed": "finished",
            "far": "lost",
            "new": "placed",
        }
        assert report.counts == {"finished": 2, "lost": 1, "placed": 1}


def _pod(name: str, where: str, phase: str = "Running") -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"nodeName": where, "containers": [{"name": "c", "image": "i"}]},
        "status": {"phase": phase} if where else {},
    }


def test_an_evicted_pod_of_a_workload_is_replaced() -> None:
    low = workload("ReplicaSet", pod={"containers": [_container("2")]})
    high = _pod("high", "")
    high["spec"].update(containers=[_container("2")], priority=1000)
    before = dump(low)
    for raw in before:
        if raw["kind"] == "Pod":
            raw["spec"]["nodeName"] = "a"
    ended = run(node("a").offering(cpu="2"), *before, high)

    assert places(ended)["high"] == "a"
    assert [each.name for each in ended.evictions] == ["web-0"]
    waiting = [pod for pod in pods_of(ended) if not pod.spec.node_name]
    assert len(waiting) == 1
    assert isinstance(waiting[0], Pod)


def _container(cpu: str) -> Raw:
    return {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
