"""A real API server takes the manifests, and what they allow is enough and not more."""

import asyncio
import contextlib
import random
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.app.config_sources import ConfigMapRef, ConfigMaps
from moorage.clock import SystemClock
from moorage.config.field_errors import InputError
from moorage.feeds.metrics_server import NODE_METRICS
from moorage.kube import kubeconfig
from moorage.kube.kube_api_server import KubeApiServer
from moorage.serve.request_authorizer import Authorizer, Denied
from moorage.watch.api_errors import Forbidden, NotFound
from moorage.watch.api_resources import NODES, RESOURCES
from tests.deploy.conftest import ACCOUNT, apply, kubectl
from tests.deploy.tools import OVERLAYS, RUNNING, Raw, of_kind, rendered, templates
from tests.integration.control_plane import ControlPlane, Refused
from tests.integration.harness import wait_for

pytestmark = pytest.mark.kube

CLUSTER_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
CUSTOM = "/apis/scheduling.x-k8s.io/v1alpha1/namespaces/default"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_api_server_takes_every_object(cluster: ControlPlane, overlay: str) -> None:
    said = apply(cluster, rendered(overlay), "--dry-run=server")

    assert said.count("serverside-applied (server dry run)") == rendered(overlay).count("\nkind: ")


@pytest.mark.parametrize("overlay", RUNNING)
def test_pod_security_admits_every_pod_as_restricted(cluster: ControlPlane, overlay: str) -> None:
    """Admission is asked: a pod of each template is created, for show, where it is enforced."""
    enforced = "pod-security.kubernetes.io/enforce=restricted"
    kubectl(cluster, "label", "--overwrite", "namespace", "moorage-system", enforced)
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"try-{number}", "namespace": "moorage-system"},
            "spec": template["spec"],
        }
        for number, template in enumerate(templates(overlay))
    ]

    said = apply(cluster, yaml.safe_dump_all(pods), "--dry-run=server")

    assert said.count("serverside-applied (server dry run)") == len(pods)


def test_pod_security_would_refuse_one_that_is_not(cluster: ControlPlane) -> None:
    enforced = "pod-security.kubernetes.io/enforce=restricted"
    kubectl(cluster, "label", "--overwrite", "namespace", "moorage-system", enforced)
    [template] = templates("base")
    spec = {**template["spec"], "securityContext": {}}
    where = {"name": "loose", "namespace": "moorage-system"}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": where, "spec": spec}

    with pytest.raises(pytest.fail.Exception, match="violates PodSecurity"):
        apply(cluster, yaml.safe_dump(pod), "--dry-run=server")


@pytest.mark.parametrize(
    ("plural", "namespace", "name"),
    [
        pytest.param("configmaps", "kube-system", "kube-root-ca.crt", id="other configuration"),
        pytest.param("leases", "kube-system", "kube-scheduler", id="the lease of kube-scheduler"),
        pytest.param("leases", "default", "other", id="leases beyond its own namespace"),
    ],
)
def test_it_may_not_read_what_is_not_its_own(
    account: Path, plural: str, namespace: str, name: str
) -> None:
    async def read() -> None:
        server = KubeApiServer(kubeconfig.load_kubeconfig([account]))
        try:
            await server.get(RESOURCES[plural], namespace, name)
        finally:
            await server.close()

    with pytest.raises(Forbidden):
        asyncio.run(read())


def test_who_stands_in_may_read_the_lease_and_not_write_it(
    cluster: ControlPlane, account: Path
) -> None:
    overlay = "overlays/stand-in-for-kube-scheduler"
    rights = [
        obj
        for kind in ("Role", "RoleBinding")
        for obj in of_kind(overlay, kind)
        if obj["metadata"]["name"] == "moorage-stand-in"
    ]
    where = ("kube-system", "kube-scheduler")

    async def read() -> Raw:
        server = KubeApiServer(kubeconfig.load_kubeconfig([account]))
        try:
            return await server.get(RESOURCES["leases"], *where)
        finally:
            await server.close()

    async def write() -> None:
        server = KubeApiServer(kubeconfig.load_kubeconfig([account]))
        try:
            await server.patch(RESOURCES["leases"], *where, {"spec": {"holderIdentity": "me"}})
        finally:
            await server.close()

    apply(cluster, yaml.safe_dump_all(rights))
    try:
        with pytest.raises(NotFound):
            asyncio.run(read())
        with pytest.raises(Forbidden):
            asyncio.run(write())
    finally:
        path = "/apis/rbac.authorization.k8s.io/v1/namespaces/kube-system/rolebindings"
        cluster.request("DELETE", f"{path}/moorage-stand-in")


def test_the_config_map_of_policies_can_be_followed_and_others_cannot(
    cluster: ControlPlane, account: Path
) -> None:
    overlay = "overlays/policies"
    wanted = [
        obj
        for kind in ("Role", "RoleBinding", "ConfigMap")
        for obj in of_kind(overlay, kind)
        if obj["metadata"]["name"] in {"moorage-policies", "scheduling-policies"}
    ]
    apply(cluster, yaml.safe_dump_all(wanted))

    async def read(name: str) -> list[str]:
        server, clock = KubeApiServer(kubeconfig.load_kubeconfig([account])), SystemClock()
        ref, failures = ConfigMapRef("moorage-system", name), list[str]()
        found = ConfigMaps([ref])
        try:
            await found.fetch(server, clock, lambda *_: None)
            follow = found.follow(
                ref, server, clock, random.Random(0), lambda _, error: failures.append(str(error))
            )
            async with aclosing(follow) as changes, asyncio.timeout(30):
                await anext(changes)
            assert failures == []
            return [text.source for text in found.read()]
        finally:
            await server.close()

    assert asyncio.run(read("scheduling-policies")) == [
        "ConfigMap moorage-system/scheduling-policies"
    ]
    with pytest.raises(InputError, match="forbidden"):
        asyncio.run(read("moorage-latencies"))


def test_it_may_not_change_nodes(account: Path) -> None:
    async def write() -> None:
        server = KubeApiServer(kubeconfig.load_kubeconfig([account]))
        try:
            await server.patch(NODES, "", "n1", {"spec": {"unschedulable": True}})
        finally:
            await server.close()

    with pytest.raises(Forbidden):
        asyncio.run(write())


@pytest.fixture(scope="module")
def measuring(cluster: ControlPlane, account: Path, tmp_path_factory: Any) -> dict[str, Path]:
    """Kubeconfigs of the scheduler and of a prober, with the rights of the measured overlay."""
    kinds = ("ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding")
    wanted = [obj for kind in kinds for obj in of_kind("overlays/measured", kind)]
    latencies = [
        found
        for found in of_kind("overlays/measured", "ConfigMap")
        if found["metadata"]["name"] == "moorage-latencies"
    ]
    apply(cluster, yaml.safe_dump_all([*wanted, *latencies]))
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    path = ACCOUNT.replace("/moorage/token", "/moorage-prober/token")
    token = cluster.request("POST", path, review)["status"]["token"]
    file = tmp_path_factory.mktemp("prober") / "kubeconfig.yaml"
    prober = cluster.write_kubeconfig(file, cluster.url, token)
    return {"scheduler": account, "prober": prober}


@pytest.mark.parametrize(
    ("who", "does", "may"),
    [
        pytest.param("prober", "list nodes", True, id="a prober lists nodes"),
        pytest.param("prober", "write latencies", True, id="and writes what it measures"),
        pytest.param("prober", "write another", False, id="but no other ConfigMap"),
        pytest.param("prober", "ask metrics", False, id="nor asks what nodes use"),
        pytest.param("scheduler", "read latencies", True, id="the scheduler reads latencies"),
        pytest.param("scheduler", "watch latencies", True, id="and watches them"),
        pytest.param("scheduler", "write latencies", False, id="and does not write them"),
        pytest.param("scheduler", "ask metrics", True, id="it asks what nodes use"),
    ],
)
def test_who_measures_and_who_reads(
    measuring: dict[str, Path], who: str, does: str, may: bool
) -> None:
    maps, here = RESOURCES["configmaps"], ("moorage-system", "moorage-latencies")

    async def act() -> None:
        server = KubeApiServer(kubeconfig.load_kubeconfig([measuring[who]]))

        async def watch() -> None:
            """Nothing happens there, so nothing is heard: but nobody says no."""
            version = (await server.get(maps, *here))["metadata"]["resourceVersion"]
            watching = server.watch(maps.one("/".join(here)), resource_version=version)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await anext(watching)
            await watching.aclose()

        actions: dict[str, Callable[[], Awaitable[object]]] = {
            "list nodes": lambda: server.list_page(NODES),
            "read latencies": lambda: server.get(maps, *here),
            "watch latencies": watch,
            "write latencies": lambda: server.patch(maps, *here, {"data": {"n1": "{}"}}),
            "write another": lambda: server.patch(maps, "kube-system", "kube-root-ca.crt", {}),
            "ask metrics": lambda: server.get(NODE_METRICS, "", ""),
        }
        try:
            await actions[does]()
        except NotFound:
            assert does == "ask metrics"  # allowed, and nobody here serves it
        finally:
            await server.close()

    if may:
        asyncio.run(act())
    else:
        with pytest.raises(Forbidden):
            asyncio.run(act())


@pytest.mark.parametrize(
    ("who", "want"),
    [
        pytest.param("an administrator", 200, id="an administrator may see metrics"),
        pytest.param("the scheduler", 403, id="the scheduler itself may not"),
        pytest.param("nobody", 403, id="nor may one who does not say who he is"),
        pytest.param("a forger", 401, id="nor one whose token is not valid"),
    ],
)
def test_who_may_see_metrics_is_found_out_with_its_rights(
    cluster: ControlPlane, account: Path, who: str, want: int
) -> None:
    own = yaml.safe_load(account.read_text())["users"][0]["user"]["token"]
    tokens = {"an administrator": cluster.token, "the scheduler": own, "nobody": ""}

    async def check() -> int:
        server = KubeApiServer(kubeconfig.load_kubeconfig([account]))
        try:
            await Authorizer(server.create).check(tokens.get(who, "forged"), "get", "/metrics")
        except Denied as denied:
            return denied.status
        finally:
            await server.close()
        return 200

    assert asyncio.run(check()) == want


def test_prometheus_sees_metrics_by_the_role_of_the_monitoring_overlay_and_nothing_else(
    cluster: ControlPlane, account: Path
) -> None:
    accounts = "/api/v1/namespaces/monitoring/serviceaccounts"
    prometheus = {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": "prometheus-k8s", "namespace": "monitoring"},
    }
    role, binding = (
        [obj for obj in of_kind("overlays/monitoring", kind) if _is_reader(obj)]
        for kind in ("ClusterRole", "ClusterRoleBinding")
    )
    apply(cluster, yaml.safe_dump_all([prometheus, *binding]))
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    token = cluster.request("POST", f"{accounts}/prometheus-k8s/token", review)["status"]["token"]

    async def ask(path: str) -> bool:
        server = KubeApiServer(kubeconfig.load_kubeconfig([account]))
        try:
            await Authorizer(server.create).check(token, "get", path)
        except Denied:
            return False
        finally:
            await server.close()
        return True

    def allowed(path: str = "/metrics") -> bool:
        return asyncio.run(ask(path))

    assert not allowed()
    apply(cluster, yaml.safe_dump_all(role))
    try:
        wait_for(allowed, "it may never see metrics")
        assert not allowed("/configz")
    finally:
        cluster.request("DELETE", f"{CLUSTER_ROLES}/moorage-metrics-reader")
    wait_for(lambda: not allowed(), "it may see metrics without the role")


def _is_reader(obj: Raw) -> bool:
    return bool(obj["metadata"]["name"] == "moorage-metrics-reader")


def group(**spec: Any) -> Raw:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "gang", "namespace": "default"},
        "spec": spec,
    }


def quota(**spec: Any) -> Raw:
    return {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "ElasticQuota",
        "metadata": {"name": "team", "namespace": "default"},
        "spec": spec,
    }


@pytest.mark.parametrize(
    ("plural", "obj"),
    [
        pytest.param("podgroups", group(minMember=3), id="a group of three"),
        pytest.param(
            "podgroups",
            group(minMember=3, minResources={"cpu": "3", "nvidia.com/gpu": 1}),
            id="a group that needs room",
        ),
        pytest.param(
            "elasticquotas",
            quota(min={"cpu": "500m", "memory": "1Gi"}, max={"cpu": 2, "pods": 10}),
            id="a quota that may borrow",
        ),
    ],
)
def test_custom_resources_are_taken(cluster: ControlPlane, plural: str, obj: Raw) -> None:
    assert cluster.request("POST", f"{CUSTOM}/{plural}?dryRun=All", obj)["spec"] == obj["spec"]


@pytest.mark.parametrize(
    ("plural", "obj", "why"),
    [
        pytest.param("podgroups", group(minMember=0), "spec.minMember", id="a group of nobody"),
        pytest.param("podgroups", group(), "spec.minMember", id="a group that says nothing"),
        pytest.param(
            "podgroups",
            group(minMember=1, scheduleTimeoutSeconds=0),
            "spec.scheduleTimeoutSeconds",
            id="a group that waits no time",
        ),
        pytest.param(
            "podgroups",
            group(minMember=1, minResources={"cpu": "much"}),
            "spec.minResources",
            id="an amount that is none",
        ),
        pytest.param(
            "elasticquotas",
            quota(min={"cpu": "3"}, max={"cpu": "2500m"}),
            "min must not exceed max",
            id="a quota sure of more than it may have",
        ),
        pytest.param("elasticquotas", quota(max={"cpu": "-1"}), "spec.max", id="less than nothing"),
    ],
)
def test_custom_resources_are_checked(
    cluster: ControlPlane, plural: str, obj: Raw, why: str
) -> None:
    with pytest.raises(Refused, match=why) as refused:
        cluster.request("POST", f"{CUSTOM}/{plural}?dryRun=All", obj)

    assert refused.value.status == 422
