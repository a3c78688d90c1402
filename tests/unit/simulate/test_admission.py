"""Defaulting and admission that change where a pod goes, or whether it goes anywhere."""

from typing import Any

import pytest

from moorage.config.field_errors import InputError
from moorage.memory.cluster_resources import RUNTIME_CLASSES
from moorage.simulate.simulation import pods_of
from moorage.simulate.simulation_report import build_report
from moorage.testing import node
from moorage.watch.api_resources import PODS
from tests.unit.memory.object_recipes import of_kind, workload
from tests.unit.simulate.embedded_runs import Raw, places, run


def pod(name: str = "web", cpu: str = "", **spec: Any) -> Raw:
    asked = {"resources": {"requests": {"cpu": cpu}}} if cpu else {}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {"containers": [{"name": "c", "image": "i", **asked}], **spec},
    }


def limit_range(**limit: Any) -> Raw:
    limits = [{"type": "Container", **limit}]
    return of_kind("LimitRange", "v1", namespaced=True, spec={"limits": limits})


def quota(**hard: str) -> Raw:
    named = {name.replace("_", "."): value for name, value in hard.items()}
    return of_kind("ResourceQuota", "v1", namespaced=True, spec={"hard": named})


def test_a_node_with_capacity_alone_has_it_all_to_allocate() -> None:
    bare = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "a"},
        "status": {"capacity": {"cpu": "2", "memory": "4Gi", "pods": "10"}},
    }
    assert places(run(bare, pod("one", "2"), pod("two", "1"))) == {"one": "a", "two": ""}


class TestRuntimeClass:
    def test_its_overhead_counts_and_its_selector_decides(self) -> None:
        runtime = of_kind(
            "RuntimeClass",
            RUNTIME_CLASSES.api_version,
            handler="kata",
            overhead={"podFixed": {"cpu": "1"}},
            scheduling={"nodeSelector": {"vm": "yes"}, "tolerations": [{"operator": "Exists"}]},
        )
        nodes = [
            node("plain").offering(cpu="4"),
            node("small").offering(cpu="1").labelled(vm="yes"),
            node("large").offering(cpu="2").labelled(vm="yes").tainted("vm"),
        ]
        ended = run(*nodes, runtime, pod(cpu="1", runtimeClassName="judged"))

        assert places(ended) == {"web": "large"}

    def test_one_that_is_not_there_is_refused(self) -> None:
        with pytest.raises(InputError, match='RuntimeClass "kata" not found'):
            run(node("a"), pod(runtimeClassName="kata"))


class TestLimitRange:
    def test_its_defaults_are_what_a_container_asks_for(self) -> None:
        ended = run(
            node("a").offering(cpu="3"),
            limit_range(default={"cpu": "2"}),
            pod("one"),
            pod("two"),
        )

        assert sorted(places(ended).values()) == ["", "a"]

    def test_a_default_request_comes_before_a_default_limit(self) -> None:
        ended = run(
            node("a"), limit_range(default={"cpu": "2"}, defaultRequest={"cpu": "1"}), pod()
        )
        resources = ended.cluster.read(PODS, "default", "web")["spec"]["containers"][0]["resources"]

        assert resources == {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}

    def test_what_is_out_of_bounds_is_refused(self) -> None:
        said = "maximum cpu usage per Container is 1, but limit is 2"
        given = pod()
        given["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "2"}}
        with pytest.raises(InputError, match=said):
            run(node("a"), limit_range(max={"cpu": "1"}), given)

    def test_other_namespaces_are_left_alone(self) -> None:
        other = pod()
        other["metadata"]["namespace"] = "other"
        ended = run(node("a"), limit_range(default={"cpu": "2"}), other)
        container = ended.cluster.read(PODS, "other", "web")["spec"]["containers"][0]

        assert not container.get("resources")


class TestResourceQuota:
    def test_pods_beyond_it_are_refused_with_the_reason(self) -> None:
        ended = run(node("a"), quota(pods="2"), workload("ReplicaSet", replicas=5))

        assert len(pods_of(ended)) == 2
        (said,) = build_report(ended).refused
        assert "exceeded quota: judged, requested: pods=1, used: pods=2, limited: pods=2" in said

    def test_requests_are_added_up(self) -> None:
        said = "exceeded quota: judged, requested: requests.cpu=1, used: requests.cpu=1500m"
        with pytest.raises(InputError, match=said):
            run(
                node("a"),
                quota(requests_cpu="2"),
                pod("one", "1500m"),
                pod("two", "1"),
            )

    def test_what_it_counts_must_be_said(self) -> None:
        with pytest.raises(InputError, match=r"must specify limits.cpu for: c"):
            run(node("a"), quota(limits_cpu="2"), pod(cpu="1"))

    def test_another_namespaces_quota_does_not_matter(self) -> None:
        other = quota(pods="0")
        other["metadata"]["namespace"] = "other"

        assert places(run(node("a"), other, pod())) == {"web": "a"}

    def test_finished_pods_use_none_of_it(self) -> None:
        done = pod("done")
        done["spec"]["nodeName"] = "a"
        done["status"] = {"phase": "Succeeded"}

        assert places(run(node("a"), quota(pods="1"), done, pod("zz")))["zz"] == "a"


def test_a_global_default_is_the_priority_of_pods_that_name_none() -> None:
    default = of_kind("PriorityClass", "scheduling.k8s.io/v1", value=7, globalDefault=True)
    (found,) = pods_of(run(node("a"), pod(), default))

    assert found.priority == 7


class TestDefaultTolerations:
    def test_a_pod_stays_five_minutes_on_a_node_that_went_away(self) -> None:
        gone = node("a").tainted("node.kubernetes.io/unreachable", "", "NoExecute")
        ended = run(gone, pod())

        assert places(ended) == {"web": "a"}
        (found,) = pods_of(ended)
        assert {t.key: t.toleration_seconds for t in found.spec.tolerations} == {
            "node.kubernetes.io/not-ready": 300,
            "node.kubernetes.io/unreachable": 300,
        }

    def test_its_own_toleration_stays(self) -> None:
        own = [{"operator": "Exists"}]
        (found,) = pods_of(run(node("a"), pod(tolerations=own)))

        assert len(found.spec.tolerations) == 1
