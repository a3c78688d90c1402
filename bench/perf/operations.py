"""What a workload does, operation by operation, as upstream's scheduler_perf defines them."""

import asyncio
import contextlib
import copy
import itertools
import re
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final

import yaml

from bench.perf.cases import Operation, Workload
from bench.perf.client import Client, Raw, many
from bench.perf.devices import allocate_claims
from bench.perf.go_template import Template
from bench.perf.measurement import Measurement
from bench.perf.pods import Pods
from bench.perf.ticker import Ticker
from bench.perf.volumes import volume_objects
from moorage.watch.api_errors import ApiError

ALLOCATABLE: Final = {"pods": "110", "cpu": "4", "memory": "32Gi"}
BASE_NODE: Final[Raw] = {
    "apiVersion": "v1",
    "kind": "Node",
    "status": {
        "capacity": ALLOCATABLE,
        "allocatable": ALLOCATABLE,
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
ASKED: Final = {"cpu": "100m", "memory": "500Mi"}
BASE_POD: Final[Raw] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "pod-"},
    "spec": {
        "containers": [
            {
                "name": "pause",
                "image": "registry.k8s.io/pause:3.10.1",
                "ports": [{"containerPort": 80}],
                "resources": {"limits": ASKED, "requests": ASKED},
            }
        ]
    },
}


class UnsupportedOperation(Exception):
    """An operation that is not carried out here."""


class Operations:
    """Carries out a workload's operations, one after the other."""

    def __init__(
        self, workload: Workload, client: Client, pods: Pods, measurement: Measurement
    ) -> None:
        self._workload = workload
        self._client = client
        self._pods = pods
        self._measurement = measurement
        self._awaited: dict[str, int] = {}
        """By namespace, how many pods a barrier waits for."""
        self._templates: dict[str, Template] = {}
        self._parsed: dict[str, Raw] = {}
        self._background: set[asyncio.Task[None]] = set()
        self._deletions: set[asyncio.Task[None]] = set()
        pods.is_leaving = lambda: not all(task.done() for task in self._deletions)
        self._known: dict[str, Callable[[int, Operation], Awaitable[None]]] = {
            "createNodes": self._create_nodes,
            "createNamespaces": self._create_namespaces,
            "createPods": self._create_pods,
            "createPodSets": self._create_pod_sets,
            "createAny": self._create_any,
            "createPodGroups": self._create_pod_groups,
            "createResourceClaims": self._create_any,
            "allocResourceClaims": self._allocate_claims,
            "updateAny": self._update_any,
            "deletePods": self._delete_pods,
            "churn": self._churn,
            "barrier": self._barrier,
            "sleep": self._sleep,
            "startCollectingMetrics": self._start,
            "stopCollectingMetrics": self._stop,
        }

    def check(self) -> None:
        """Raise UnsupportedOperation before anything is done."""
        for op in self._workload.operations:
            if op["opcode"] not in self._known:
                raise UnsupportedOperation(op["opcode"])

    async def run(self) -> None:
        self.check()
        try:
            for index, op in enumerate(self._workload.operations):
                await self._known[op["opcode"]](index, op)
        finally:
            for task in self._background:
                task.cancel()
            await asyncio.gather(*self._background, return_exceptions=True)

    def _beside(self, work: Any) -> asyncio.Task[None]:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._background.add(task)
        return task

    def _manifest(self, path: str, env: dict[str, Any]) -> Raw:
        if path not in self._templates:
            self._templates[path] = Template((self._workload.folder / Path(path)).read_text())
        template = self._templates[path]
        if not template.is_static:
            return _parse(template.render(env))
        if path not in self._parsed:
            self._parsed[path] = _parse(template.render({}))
        return copy.deepcopy(self._parsed[path])

    async def _namespace(self, name: str) -> None:
        if name not in self._awaited:
            self._awaited[name] = 0
            obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
            with contextlib.suppress(ApiError):  # one that is there already will do
                await self._client.create(obj)

    async def _create_namespaces(self, index: int, op: Operation) -> None:
        for number in range(op["count"]):
            name = f"{op['prefix']}-{number}"
            obj: Raw = {"apiVersion": "v1", "kind": "Namespace"}
            if op.get("namespaceTemplatePath"):
                obj = self._manifest(op["namespaceTemplatePath"], {})
            obj["metadata"] = {**obj.get("metadata", {}), "name": name}
            obj["metadata"].pop("generateName", None)
            await self._client.create(obj)
            self._awaited.setdefault(name, 0)

    async def _create_nodes(self, index: int, op: Operation) -> None:
        async def create(number: int) -> None:
            await self._client.create(self._node(index, number, op))

        await many(op["count"], create)
        if op.get("nodeAllocatableStrategy"):
            await self._offer_volumes(index, op)

    def _node(self, index: int, number: int, op: Operation) -> Raw:
        env = {**op.get("templateParams", {}), "Index": number, "Count": op["count"]}
        path = op.get("nodeTemplatePath")
        node = self._manifest(path, env) if path else dict(BASE_NODE)
        metadata = dict(node.get("metadata") or {})
        prefix = metadata.pop("generateName", f"node-{index}-")
        name = metadata.setdefault("name", f"{prefix}{number:05d}")
        labels = {**(metadata.get("labels") or {}), "kubernetes.io/hostname": name}
        chosen = op.get("labelNodePrepareStrategy")
        if chosen:
            values = chosen["labelValues"]
            labels[chosen["labelKey"]] = values[number % len(values)]
        unique = op.get("uniqueNodeLabelStrategy")
        if unique:
            labels[unique["labelKey"]] = f"{index}-{number}"
        node["metadata"] = {**metadata, "labels": labels}
        return node

    async def _offer_volumes(self, index: int, op: Operation) -> None:
        strategy = op["nodeAllocatableStrategy"]
        drivers = strategy.get("csiNodeAllocatable", {}).items()
        migrated = ",".join(strategy.get("migratedPlugins", ()))

        async def create(number: int) -> None:
            name = self._node(index, number, op)["metadata"]["name"]
            node: Raw = {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSINode",
                "metadata": {
                    "name": name,
                    "annotations": {"storage.alpha.kubernetes.io/migrated-plugins": migrated},
                },
                "spec": {
                    "drivers": [
                        {"name": driver, "nodeID": name, "allocatable": allocatable}
                        for driver, allocatable in drivers
                    ]
                },
            }
            await self._client.create(node)

        await many(op["count"], create)

    def _pod(self, number: int, op: Operation) -> Raw:
        path = op.get("podTemplatePath")
        if not path:
            return BASE_POD
        env = {**op.get("templateParams", {}), "Index": number, "Count": op["count"]}
        pod = self._manifest(path, env)
        metadata = pod.setdefault("metadata", {})
        signature = f"signature-label-{number // op.get('signatureBatchSize', 1)}"
        metadata["labels"] = {**(metadata.get("labels") or {}), "signature": signature}
        return pod

    async def _create_pods(self, index: int, op: Operation) -> None:
        namespace = op.get("namespace") or f"namespace-{index}"
        await self._namespace(namespace)
        if op.get("collectMetrics"):
            await self._measurement.start(frozenset([namespace]), {})
        if op.get("steadyState"):
            await self._steadily(namespace, op)
        else:
            await many(op["count"], lambda number: self._create_pod(namespace, number, op))
        if op.get("skipWaitToCompletion"):
            self._awaited[namespace] += op["count"]
        elif not op.get("steadyState"):
            await self._pods.until_scheduled(namespace, op["count"], {})
        if op.get("collectMetrics"):
            await self._measurement.stop()

    async def _create_pod(self, namespace: str, number: int, op: Operation) -> None:
        pod = self._pod(number, op)
        if op.get("persistentVolumeClaimTemplatePath"):
            claim = self._manifest(op["persistentVolumeClaimTemplatePath"], {})
            volume = self._manifest(op["persistentVolumeTemplatePath"], {})
            claim, volume = volume_objects(namespace, number, claim, volume)
            for obj in (claim, volume):
                await self._client.create(obj, namespace)
                await self._client.update(
                    obj, namespace if obj is claim else "", subresources=["status"]
                )
            source = {"claimName": claim["metadata"]["name"]}
            volumes = [{"name": "vol", "persistentVolumeClaim": source}]
            pod = {**pod, "spec": {**pod["spec"], "volumes": volumes}}
        await self._client.create(pod, namespace)

    async def _steadily(self, namespace: str, op: Operation) -> None:
        """Delete each pod that is scheduled, and create another, until the time is up."""
        numbers = itertools.count(op["count"])
        done: asyncio.Queue[Any] = asyncio.Queue()
        self._pods.on_scheduled = lambda p: done.put_nowait(p) if p.namespace == namespace else None
        try:
            async with asyncio.timeout(seconds(op["duration"])):
                await many(op["count"], lambda number: self._create_pod(namespace, number, op))
                while True:
                    pod = await done.get()
                    gone = {"namespace": namespace, "name": pod.name}
                    await self._client.delete({**BASE_POD, "metadata": gone}, 0)
                    await self._create_pod(namespace, next(numbers), op)
        except TimeoutError:
            return
        finally:
            self._pods.on_scheduled = None

    async def _create_pod_sets(self, index: int, op: Operation) -> None:
        for number in range(op["count"]):
            inner = {**op["createPodsOp"], "namespace": f"{op['namespacePrefix']}-{number}"}
            await self._create_pods(index, inner)

    async def _create_any(self, index: int, op: Operation) -> None:
        namespace, count = op.get("namespace", ""), op.get("count", 1)
        if namespace:
            await self._namespace(namespace)

        async def create(number: int) -> None:
            env = {**op.get("templateParams", {}), "Index": number, "Count": count}
            await self._client.create(self._manifest(op["templatePath"], env), namespace)

        await many(count, create)

    async def _create_pod_groups(self, index: int, op: Operation) -> None:
        await self._create_any(index, op)
        await asyncio.sleep(0.5)  # for the scheduler to have heard of them

    async def _allocate_claims(self, index: int, op: Operation) -> None:
        await allocate_claims(self._client, op.get("namespace", ""), self._workload.gates)

    async def _update_any(self, index: int, op: Operation) -> None:
        count, rate = op.get("count", 1), op.get("updatePerSecond", 0)
        ticker = Ticker(1 / rate) if rate else None
        for number in range(count):
            if ticker is not None:
                await ticker.tick()
            env = {"Index": number, "Count": count}
            obj = self._manifest(op["templatePath"], env)
            for subresource in (*(op.get("subresources") or [""]), "status"):
                await self._client.update(obj, op.get("namespace", ""), [subresource])

    async def _delete_pods(self, index: int, op: Operation) -> None:
        work = self._delete(op)
        if op.get("skipWaitToCompletion"):
            self._deletions.add(self._beside(work))
        else:
            await work

    async def _delete(self, op: Operation) -> None:
        namespace, labels = op["namespace"], op.get("labelSelector") or {}
        rate = op.get("deletePodsPerSecond", 0)
        if not rate:
            selector = ",".join(f"{key}={value}" for key, value in labels.items())
            path = f"/api/v1/namespaces/{namespace}/pods?labelSelector={selector}"
            await self._client.delete_all(path)
            return
        ticker = Ticker(1 / rate)
        for pod in self._pods.of(namespace, labels):
            await ticker.tick()
            gone = {"namespace": namespace, "name": pod.name}
            await self._client.delete({**BASE_POD, "metadata": gone})

    async def _churn(self, index: int, op: Operation) -> None:
        namespace = op.get("namespace") or f"namespace-{index}"
        await self._namespace(namespace)
        self._beside(self._keep_churning(namespace, op))

    async def _keep_churning(self, namespace: str, op: Operation) -> None:
        number, recreate = op.get("number", 0), op["mode"] == "recreate"
        made: dict[tuple[str, int], Raw] = {}
        ticker = Ticker(op.get("intervalMilliseconds", 500) / 1000)
        for turn in itertools.count():
            if not recreate and number and turn >= number:
                return
            await ticker.tick()
            for path in op["templatePaths"]:
                slot = (path, turn % number if recreate else turn)
                gone = made.pop(slot, None)
                with contextlib.suppress(ApiError):
                    if gone is not None:
                        await self._client.delete(gone)
                    else:
                        live = await self._client.create(self._manifest(path, {}), namespace)
                        made[slot] = live

    async def _barrier(self, index: int, op: Operation) -> None:
        attempted = op.get("stageRequirement") == "Attempted"
        labels = op.get("labelSelector") or {}
        for namespace in op.get("namespaces") or list(self._awaited):
            count = self._awaited.get(namespace, 0)
            await self._pods.until_scheduled(namespace, count, labels, attempted=attempted)
            if not attempted:
                self._awaited[namespace] = 0

    async def _sleep(self, index: int, op: Operation) -> None:
        await asyncio.sleep(seconds(op["duration"]))

    async def _start(self, index: int, op: Operation) -> None:
        await self._measurement.start(frozenset(op["namespaces"]), op.get("labelSelector") or {})

    async def _stop(self, index: int, op: Operation) -> None:
        await self._measurement.stop()


def _parse(text: str) -> Raw:
    raw: Raw = yaml.load(text, _LOADER)
    return raw


def seconds(duration: str) -> float:
    """Go's notation of a duration: `1m30s`."""
    units = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 0.001}
    found = re.findall(r"([\d.]+)(ms|h|m|s)", duration)
    return sum(float(number) * units[unit] for number, unit in found)


_LOADER: Final = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
