"""Groups of pods and quotas for the tests, and what to wait for."""

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Container
from typing import Any

import yaml

from tests.integration.control_plane import KEPT, ROOT, ControlPlane, Refused
from tests.integration.harness import Running, eventually, running
from tests.integration.making import Raw, pod

CUSTOM = "scheduling.x-k8s.io/v1alpha1"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
GROUPS = f"/apis/{CUSTOM}/namespaces/default/podgroups"
OWN_GROUPS = "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups"
LABEL = "scheduling.x-k8s.io/pod-group"
OLDER_LABEL = "pod-group.scheduling.sigs.k8s.io"
BOTH_DIALECTS = (
    "--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true",
    "--runtime-config=scheduling.k8s.io/v1beta1=true",
)
"""What makes an API server serve Kubernetes' own groups, too."""
ALL_DIALECTS = (
    f"{BOTH_DIALECTS[0]},CompositePodGroup=true",
    f"{BOTH_DIALECTS[1]},scheduling.k8s.io/v1alpha3=true",
)
"""And trees of them."""


def shipped(plural: str) -> Raw:
    """A custom resource definition as it comes with Moorage."""
    found: Raw = yaml.safe_load((ROOT / f"deploy/crds/{plural}.yaml").read_text())
    return found


def install(plane: ControlPlane, *definitions: Raw) -> None:
    """Have custom resources served."""
    for definition in definitions:
        plane.request("POST", CRDS, definition)
    for definition in definitions:
        _until_served(plane, f"/apis/{CUSTOM}/{definition['spec']['names']['plural']}")


def _until_served(plane: ControlPlane, path: str) -> None:
    deadline = time.monotonic() + 20
    while True:
        with contextlib.suppress(Refused):
            plane.request("GET", path)
            return
        assert time.monotonic() < deadline, f"{path} is never served"
        time.sleep(0.1)


def clear(plane: ControlPlane, keep: Container[str] = KEPT) -> None:
    """Delete pods, nodes and everything about groups and quotas; and namespaces, but for some."""
    for plural in ("elasticquotas", "podgroups"):
        for found in plane.request("GET", f"/apis/{CUSTOM}/{plural}")["items"]:
            place, name = found["metadata"]["namespace"], found["metadata"]["name"]
            plane.request("DELETE", f"/apis/{CUSTOM}/namespaces/{place}/{plural}/{name}")
    with contextlib.suppress(Refused):
        plane.request("DELETE", OWN_GROUPS)
        for found in plane.request("GET", OWN_GROUPS)["items"]:
            _let_go(plane, f"{OWN_GROUPS}/{found['metadata']['name']}")
    plane.clear(keep)


def _let_go(plane: ControlPlane, path: str) -> None:
    """Take away the finalizer that a controller would."""
    plane.request("PATCH", path, {"metadata": {"finalizers": None}})


def group(name: str, members: int, annotations: dict[str, str] | None = None, **spec: Any) -> Raw:
    return {
        "apiVersion": CUSTOM,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations or {}},
        "spec": {"minMember": members, **spec},
    }


def own_group(name: str, members: int, **spec: Any) -> Raw:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": members}}, **spec},
    }


def members(
    of: str, count: int, cpu: str = "1", *, namespace: str = "default", **spec: Any
) -> list[Raw]:
    labels = {LABEL: of}
    return [
        pod(f"{of}-{i}", cpu=cpu, labels=labels, namespace=namespace, **spec) for i in range(count)
    ]


def own_members(of: str, count: int, cpu: str = "1") -> list[Raw]:
    named = {"podGroupName": of}
    return [pod(f"{of}-{i}", cpu=cpu, schedulingGroup=named) for i in range(count)]


def quota(namespace: str, least: Raw, most: Raw, name: str = "quota") -> Raw:
    return {
        "apiVersion": CUSTOM,
        "kind": "ElasticQuota",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"min": least, "max": most},
    }


def quota_path(namespace: str, name: str = "quota") -> str:
    return f"/apis/{CUSTOM}/namespaces/{namespace}/elasticquotas/{name}"


def namespace(name: str) -> Raw:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}


async def bound(under_test: Running, prefix: str) -> dict[str, str]:
    pods = await under_test.pods()
    return {
        name: found["spec"]["nodeName"]
        for name, found in pods.items()
        if name.startswith(prefix) and found["spec"].get("nodeName")
    }


async def until_bound(under_test: Running, prefix: str, count: int, within: float = 40.0) -> None:
    """Return when exactly so many of these pods are on nodes."""
    seen: dict[str, str] = {}

    async def check() -> bool:
        seen.clear()
        seen.update(await bound(under_test, prefix))
        return len(seen) == count

    def otherwise() -> str:
        return f"{len(seen)} of {count} pods {prefix}… are bound; {under_test.seen.failures}"

    await eventually(check, otherwise, within)


async def until_phase(under_test: Running, name: str, phase: str) -> Raw:
    async def check() -> Raw | None:
        found: Raw = await under_test.request("GET", f"{GROUPS}/{name}")
        return found if found.get("status", {}).get("phase") == phase else None

    return await eventually(check, lambda: f"{name} is not {phase}")


async def until_used(under_test: Running, namespace: str, **used: str) -> None:
    """Return when the quota of a namespace says that so much is used."""
    seen: Raw = {}

    async def check() -> bool:
        found = await under_test.request("GET", quota_path(namespace))
        seen.clear()
        seen.update(found.get("status", {}).get("used", {}))
        return used.items() <= seen.items()

    await eventually(check, lambda: f"the quota of {namespace} says {seen}, not {used}", 40.0)


def play(
    plane: ControlPlane, scenario: Callable[[Running], Awaitable[None]], **settings: Any
) -> None:
    """Schedule while a scenario unfolds."""

    async def main() -> None:
        async with running(plane, **settings) as under_test:
            await scenario(under_test)

    asyncio.run(main())


def profile(**settings: Any) -> Raw:
    """Settings with one profile, which has these fields."""
    return {"profiles": [{"schedulerName": "moorage", **settings}]}


def arguments(**args: Any) -> Raw:
    """Settings with these arguments of GangScheduling."""
    return profile(pluginConfig=[{"name": "GangScheduling", "args": args}])
