"""VolumeBinding after the decision: reserving, writing, waiting, and taking back."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from moorage.api.decode import decode_as
from moorage.api.node import Node
from moorage.api.storage import PersistentVolume, PersistentVolumeClaim, StorageClass
from moorage.framework.cycle import Cycle
from moorage.framework.verdicts import SKIP, PluginError
from moorage.plugins.volume_binding.plugin import VolumeBinding
from moorage.plugins.volume_binding.volume_cache import OutOfSyncError, volume_cache_of
from moorage.testing import Cluster, PodBuilder, node, pod

RULE = VolumeBinding(bind_timeout_seconds=5)
HERE = node("n").build()
BOUND = {"pv.kubernetes.io/bind-completed": "yes"}
SELECTED = "volume.kubernetes.io/selected-node"


class Server:
    """An API server of volumes and claims whose watch is the cluster's cache.

    `controller` is what happens while the scheduler waits: one step for every look it takes.
    """

    def __init__(self, cluster: Cluster, *controller: Callable[["Server"], None]) -> None:
        self.cluster = cluster
        self.patches: list[tuple[str, str, dict[str, Any]]] = []
        self.refuses = ""
        self.waited: list[float] = []
        self._controller = list(controller)

    async def create(self, resource: str, obj: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    async def patch(
        self,
        resource: str,
        namespace: str,
        name: str,
        patch: dict[str, Any],
        *,
        subresource: str = "",
    ) -> dict[str, Any]:
        if name == self.refuses:
            raise RuntimeError("409 Conflict")
        self.patches.append((resource, name, patch))
        return {"metadata": {"resourceVersion": str(100 + len(self.patches))}}

    async def wait_until(self, check: Callable[[], bool], seconds: float) -> bool:
        self.waited.append(seconds)
        for step in self._controller:
            if check():
                return True
            step(self)
        return check()

    async def bind(
        self,
        namespace: str,
        name: str,
        uid: str,
        node: str,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        raise NotImplementedError

    async def get(self, resource: str, namespace: str, name: str) -> dict[str, Any]:
        raise NotImplementedError

    async def update(self, resource: str, obj: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


def volume(name: str = "pv", version: str = "1", **more: Any) -> PersistentVolume:
    meta = {"name": name, "resourceVersion": version, **more.pop("meta", {})}
    spec = {"capacity": {"storage": "10Gi"}, "storageClassName": "local", **more}
    raw = {"metadata": meta, "spec": spec, "status": {"phase": "Available"}}
    return decode_as(raw, PersistentVolume)


def claim(
    name: str = "c", class_name: str = "local", version: str = "1", **more: Any
) -> PersistentVolumeClaim:
    annotations = more.pop("annotations", {})
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", "annotations": annotations}
    spec = {"storageClassName": class_name, "resources": {"requests": {"storage": "5Gi"}}, **more}
    raw = {"metadata": {**meta, "resourceVersion": version}, "spec": spec}
    return decode_as(raw, PersistentVolumeClaim)


def cluster(*objects: Any) -> Cluster:
    made = Cluster(node("n"), node("m"), *objects)
    for name, by in (("local", "kubernetes.io/no-provisioner"), ("fast", "csi.x")):
        raw = {"metadata": {"name": name}, "provisioner": by}
        waits = {**raw, "volumeBindingMode": "WaitForFirstConsumer"}
        made.add(decode_as(waits, StorageClass))
    return made


def using(*claims: str, name: str = "web") -> PodBuilder:
    volumes = [{"name": c, "persistentVolumeClaim": {"claimName": c}} for c in claims]
    return pod(name).with_spec(volumes=volumes)


def reserved(made: Cluster, wanted: PodBuilder, server: Server | None = None) -> Cycle:
    """A cycle whose pod is assumed on the node, with its volumes."""
    cycle = made.cycle(wanted)
    cycle.client = server
    assert RULE.pre_filter(cycle, cycle.pod) is None
    made.cache.assume(cycle.incoming, "n")
    assert RULE.reserve(cycle, cycle.pod, HERE) is None
    return cycle


def pre_bind(cycle: Cycle, here: Node = HERE) -> None:
    assert asyncio.run(RULE.pre_bind(cycle, cycle.pod, here)) is None


class TestReserving:
    """What is given to a pod is no longer there for others."""

    def test_a_volume_is_given_away_once(self) -> None:
        made = cluster(volume(), claim("c"), claim("d"))

        reserved(made, using("c"))

        assert made.place(using("d", name="other")) is None

    def test_a_volume_that_is_given_back_is_there_again(self) -> None:
        made = cluster(volume(), claim("c"), claim("d"))
        cycle = reserved(made, using("c"))

        RULE.unreserve(cycle, cycle.pod, HERE)
        RULE.unreserve(cycle, cycle.pod, HERE)

        assert made.place(using("d", name="other")) is not None

    def test_the_same_claim_finds_the_volume_it_was_given(self) -> None:
        made = cluster(volume(), claim("c"))
        reserved(made, using("c"))

        assert made.place(using("c", name="other")) is not None

    def test_a_claim_to_provision_stays_with_its_node(self) -> None:
        made = cluster(claim("c", "fast"))
        reserved(made, using("c"))

        assert made.place(using("c", name="other")) == "n"

    def test_what_the_api_server_says_later_ends_the_assumption(self) -> None:
        made = cluster(volume(), claim("c"), claim("d"))
        reserved(made, using("c"))

        made.add(volume(version="2"))

        assert made.place(using("d", name="other")) is not None

    def test_a_volume_that_changed_meanwhile_is_not_assumed(self) -> None:
        made = cluster(volume(), claim("c"))
        shelf = volume_cache_of(made.cycle(using("c")))

        with pytest.raises(OutOfSyncError, match=r"stored: 1, assume: 0"):
            shelf.volumes.assume(made.cache.objects, volume(version="0"))

    def test_a_pod_whose_claims_are_bound_has_nothing_to_do(self) -> None:
        bound = claim("c", annotations=BOUND, volumeName="pv")
        cycle = reserved(cluster(volume(), bound), using("c"))

        assert RULE.pre_bind_pre_flight(cycle, cycle.pod, HERE) is SKIP

    def test_nor_has_a_pod_without_claims(self) -> None:
        cycle = cluster().cycle(pod("web"))
        RULE.pre_filter(cycle, cycle.pod)

        assert RULE.reserve(cycle, cycle.pod, HERE) is None
        assert RULE.pre_bind_pre_flight(cycle, cycle.pod, HERE) is SKIP
        pre_bind(cycle)

    def test_a_node_where_it_does_not_fit_is_refused_even_now(self) -> None:
        made = cluster(claim("c"))
        cycle = made.cycle(using("c"))
        RULE.pre_filter(cycle, cycle.pod)

        assert RULE.reserve(cycle, cycle.pod, HERE) is not None


def bind_volume(server: Server) -> None:
    """What the volume controller does once the volume names the claim."""
    ref = {"namespace": "default", "name": "c", "uid": "uid-c"}
    server.cluster.add(volume(version="102", claimRef=ref))
    server.cluster.add(claim("c", version="103", annotations=BOUND, volumeName="pv"))


def provision(server: Server) -> None:
    """What a provisioner does once the claim names its node."""
    done = {**BOUND, SELECTED: "n"}
    server.cluster.add(volume("made", version="102"))
    server.cluster.add(claim("c", "fast", "103", annotations=done, volumeName="made"))


class TestWriting:
    """The volume is told its claim, the claim its node; for the version that was decided upon."""

    def test_a_volume_is_told_its_claim(self) -> None:
        made = cluster(volume(), claim("c"))
        server = Server(made, bind_volume)

        pre_bind(reserved(made, using("c"), server))

        (patch,) = server.patches
        assert patch == (
            "persistentvolumes",
            "pv",
            {
                "metadata": {
                    "resourceVersion": "1",
                    "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
                },
                "spec": {
                    "claimRef": {
                        "apiVersion": "v1",
                        "kind": "PersistentVolumeClaim",
                        "namespace": "default",
                        "name": "c",
                        "uid": "uid-c",
                        "resourceVersion": "1",
                    }
                },
            },
        )
        assert server.waited == [5]

    def test_a_volume_that_was_kept_for_the_claim_is_not_marked(self) -> None:
        made = cluster(volume(claimRef={"namespace": "default", "name": "c"}), claim("c"))
        server = Server(made, bind_volume)

        pre_bind(reserved(made, using("c"), server))

        ((_, _, patch),) = server.patches
        assert patch["metadata"] == {"resourceVersion": "1"}
        assert patch["spec"]["claimRef"]["uid"] == "uid-c"

    def test_a_claim_is_told_its_node(self) -> None:
        made = cluster(claim("c", "fast"))
        server = Server(made, provision)

        pre_bind(reserved(made, using("c"), server))

        patch = {"metadata": {"resourceVersion": "1", "annotations": {SELECTED: "n"}}}
        assert server.patches == [("persistentvolumeclaims", "c", patch)]

    def test_what_could_not_be_written_is_given_back(self) -> None:
        made = cluster(volume(), claim("c"), claim("d"))
        server = Server(made)
        server.refuses = "pv"
        cycle = reserved(made, using("c"), server)

        with pytest.raises(RuntimeError, match="409"):
            pre_bind(cycle)

        assert made.place(using("d", name="other")) is not None

    def test_what_was_written_is_not_given_back(self) -> None:
        """The API server has it already; only its next word can free the volume."""
        made = cluster(volume(), claim("c"), claim("e", "fast"), claim("d"))
        server = Server(made)
        server.refuses = "e"
        cycle = reserved(made, using("c", "e"), server)

        with pytest.raises(RuntimeError, match="409"):
            pre_bind(cycle)
        RULE.unreserve(cycle, cycle.pod, HERE)

        assert made.place(using("d", name="other")) is None
        assert made.place(using("e", name="third")) is not None

    def test_without_an_api_server_nothing_can_be_bound(self) -> None:
        cycle = reserved(cluster(volume(), claim("c")), using("c"))

        with pytest.raises(LookupError):
            pre_bind(cycle)


def nothing(server: Server) -> None:
    """The controllers take their time."""


def forget_pod(server: Server) -> None:
    server.cluster.cache.remove_pod("default/web")


def drop_claim_ref(server: Server) -> None:
    server.cluster.add(volume(version="102"))


def delete(obj: Any) -> Callable[[Server], None]:
    return lambda server: server.cluster.cache.objects.remove(obj)


def move_volume(server: Server) -> None:
    expression = {"key": "kubernetes.io/hostname", "operator": "In", "values": ["m"]}
    affinity = {"required": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]}}
    server.cluster.add(volume(version="102", nodeAffinity=affinity))


def remove_node(server: Server) -> None:
    server.cluster.cache.remove_node(HERE)


class TestWaiting:
    """The pod is bound only once all of its claims are."""

    @staticmethod
    def problem(made: Cluster, *controller: Callable[[Server], None]) -> str:
        with pytest.raises(PluginError) as raised:
            pre_bind(reserved(made, using("c"), Server(made, *controller)))
        return raised.value.detail

    def test_until_the_claim_is_bound(self) -> None:
        made = cluster(volume(), claim("c"))

        pre_bind(reserved(made, using("c"), Server(made, nothing, nothing, bind_volume)))

    def test_a_newer_word_is_waited_for(self) -> None:
        """The claim was bound before; what was written has not come back yet."""
        made = cluster(volume(), claim("c"))

        def bind_claim_only(server: Server) -> None:
            server.cluster.add(claim("c", version="9", annotations=BOUND, volumeName="pv"))

        assert self.problem(made, bind_claim_only) == "binding volumes: context deadline exceeded"

    def test_not_longer_than_the_time_allowed(self) -> None:
        made = cluster(volume(), claim("c"))

        assert self.problem(made, nothing) == "binding volumes: context deadline exceeded"

    @pytest.mark.parametrize(
        ("step", "want"),
        [
            pytest.param(
                drop_claim_ref, 'ClaimRef got reset for pv "pv"', id="the volume is unbound"
            ),
            pytest.param(
                forget_pod,
                'pod does not exist any more: pod "web" not found',
                id="the pod is deleted",
            ),
            pytest.param(
                delete(volume()),
                'failed to check binding: persistentvolumes "pv" not found',
                id="the volume is deleted",
            ),
            pytest.param(
                delete(claim("c")),
                'failed to check binding: persistentvolumeclaims "default/c" not found',
                id="the claim is deleted",
            ),
            pytest.param(
                move_volume,
                'pv "pv" node affinity doesn\'t match node "n": no matching NodeSelectorTerms',
                id="the volume is out of reach",
            ),
            pytest.param(
                remove_node, 'failed to get node "n": node "n" not found', id="the node left"
            ),
        ],
    )
    def test_a_volume_that_will_not_be_bound(
        self, step: Callable[[Server], None], want: str
    ) -> None:
        made = cluster(volume(), claim("c"))

        assert self.problem(made, step) == f"binding volumes: {want}"

    @pytest.mark.parametrize(
        ("left", "want"),
        [
            pytest.param({}, 'selectedNode annotation reset for PVC "c"', id="without annotations"),
            pytest.param({"k": "v"}, 'provisioning failed for PVC "c"', id="without its node"),
        ],
    )
    def test_a_provisioner_gives_the_claim_back(self, left: dict[str, str], want: str) -> None:
        made = cluster(claim("c", "fast"))

        def give_back(server: Server) -> None:
            server.cluster.add(claim("c", "fast", "102", annotations=left))

        assert self.problem(made, give_back) == f"binding volumes: {want}"

    def test_a_volume_that_is_not_seen_yet_is_waited_for(self) -> None:
        made = cluster(claim("c", "fast"))

        def bind_claim_first(server: Server) -> None:
            done = {**BOUND, SELECTED: "n"}
            server.cluster.add(claim("c", "fast", "103", annotations=done, volumeName="made"))

        pre_bind(reserved(made, using("c"), Server(made, bind_claim_first, nothing, provision)))
