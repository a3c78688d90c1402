"""DynamicResources: pods get devices, and no device is given away twice."""

import asyncio
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np
import pytest

from moorage.api.decode import decode_as
from moorage.api.pod import Pod
from moorage.api.podgroup import PodGroup
from moorage.api.resource_claims import ResourceClaim
from moorage.api.resource_slices import DeviceClass, ResourceSlice
from moorage.cache.node_view import Nodes
from moorage.cycle import attempt
from moorage.cycle.attempt import Decision
from moorage.devices.allocator import Allocator
from moorage.devices.claim_tracker import SHARED_IN_GROUP
from moorage.devices.device_cache import device_cache
from moorage.devices.errands import ErrandKind
from moorage.devices.work_budget import UNITS_PER_SECOND, WorkBudget
from moorage.framework.cycle import Cycle
from moorage.framework.diagnosis import Diagnosis
from moorage.framework.handle import Handle
from moorage.framework.plugin import give_handle
from moorage.framework.verdicts import SKIP, PluginError, unresolvable
from moorage.plugins.dynamic_resources.claim_columns import BROKEN, TIMED_OUT
from moorage.plugins.dynamic_resources.plugin import DynamicResources
from moorage.testing import Cluster, PodBuilder, node, pod

DRIVER = "gpu.example.com"
PLAIN = pod("web")
GPU_CLASS: dict[str, Any] = {
    "metadata": {"name": "gpu"},
    "spec": {"selectors": [{"cel": {"expression": f"device.driver == '{DRIVER}'"}}]},
}


def offered(where: str, *models: str) -> ResourceSlice:
    devices = [
        {"name": f"gpu-{index}", "attributes": {"model": {"string": model}}}
        for index, model in enumerate(models)
    ]
    spec = {
        "driver": DRIVER,
        "pool": {"name": where, "generation": 1, "resourceSliceCount": 1},
        "nodeName": where,
        "devices": devices,
    }
    return decode_as({"metadata": {"name": f"slice-{where}"}, "spec": spec}, ResourceSlice)


def claimed(name: str, model: str = "", count: int = 1, **status: Any) -> ResourceClaim:
    exactly: dict[str, Any] = {
        "deviceClassName": "gpu",
        "allocationMode": "ExactCount",
        "count": count,
    }
    if model:
        chosen = f"device.attributes['{DRIVER}'].model == '{model}'"
        exactly["selectors"] = [{"cel": {"expression": chosen}}]
    metadata = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "1"}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    return decode_as({"metadata": metadata, "spec": spec, "status": status}, ResourceClaim)


def using(*claims: str, name: str = "web") -> PodBuilder:
    entries = [{"name": each, "resourceClaimName": each} for each in claims]
    return pod(name).with_spec(resourceClaims=entries)


def cluster(*objects: Any) -> Cluster:
    made = Cluster(node("a"), node("b"))
    for obj in (decode_as(GPU_CLASS, DeviceClass), *objects):
        made.add(obj)
    return made


def rule(made: Cluster, **gates: bool) -> DynamicResources:
    plugin = DynamicResources(feature_gates=gates)
    handle = Handle("DynamicResources", made.cache, lambda: 1_000_000.0, {})
    made.profile.handles["DynamicResources"] = handle
    give_handle(plugin, handle)
    return plugin


def filtered(plugin: DynamicResources, cycle: Cycle) -> list[str]:
    """What each node is refused for; nothing where it fits."""
    refused = plugin.pre_filter(cycle, cycle.pod)
    assert refused is None, refused
    nodes = Nodes.all(cycle.table)
    out = np.zeros(nodes.count, dtype=np.int32)
    plugin.filter_all(cycle, cycle.pod, nodes, out)
    return [
        "" if not code else plugin.rejection(cycle, cycle.pod, int(code)).message for code in out
    ]


def diagnosed(plugin: DynamicResources, cycle: Cycle, *others: str) -> Diagnosis:
    """Who refused which node; `others` are nodes that were refused before the plugin was asked."""
    diagnosis = Diagnosis(cycle.table)
    for name in others:
        row = np.array([cycle.table.row_of[name]], dtype=np.intp)
        diagnosis.refuse(row, np.ones(1, dtype=np.int32), lambda _: unresolvable("full").by("Fit"))
    plugin.pre_filter(cycle, cycle.pod)
    nodes = Nodes.all(cycle.table)
    out = np.zeros(nodes.count, dtype=np.int32)
    plugin.filter_all(cycle, cycle.pod, nodes, out)
    rows = np.flatnonzero(out)
    diagnosis.refuse(
        rows,
        out[rows],
        lambda code: plugin.rejection(cycle, cycle.pod, code).by("DynamicResources"),
    )
    return diagnosis


def reserved(
    made: Cluster, wanted: PodBuilder, where: str, **gates: bool
) -> tuple[DynamicResources, Cycle]:
    plugin, cycle = rule(made, **gates), made.cycle(wanted)
    filtered(plugin, cycle)
    assert plugin.reserve(cycle, cycle.pod, node(where).build()) is None
    return plugin, cycle


class Server:
    """An API server that keeps claims; `lost` replies never arrive."""

    def __init__(self, *claims: ResourceClaim, lost: bool = False) -> None:
        self.claims = {claim.name: msgspec.to_builtins(claim) for claim in claims}
        self.lost = lost

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
        return dict(self.claims[name])

    async def create(self, resource: str, obj: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    async def update(self, resource: str, obj: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError

    async def wait_until(self, check: Any, seconds: float) -> bool:
        return bool(check())

    async def patch(
        self,
        resource: str,
        namespace: str,
        name: str,
        patch: dict[str, Any],
        *,
        subresource: str = "",
    ) -> dict[str, Any]:
        known = self.claims[name]
        await asyncio.sleep(0)
        known = self.claims[name]
        if patch["metadata"]["resourceVersion"] != known["metadata"]["resourceVersion"]:
            raise ConflictingError
        version = str(int(known["metadata"]["resourceVersion"]) + 1)
        metadata = {**known["metadata"], **patch["metadata"], "resourceVersion": version}
        status = {**known.get("status", {}), **patch.get("status", {})}
        self.claims[name] = {**known, "metadata": metadata, "status": status}
        if self.lost and subresource:
            raise ConnectionError("the reply was lost")
        return dict(self.claims[name])


class ConflictingError(Exception):
    status = 409
    reason = "Conflict"


def test_a_pod_without_claims_is_neither_filtered_nor_preferred() -> None:
    made = Cluster(node("a"), node("b"))
    plugin, cycle = rule(made), made.cycle(PLAIN)
    scores = np.zeros(2, dtype=np.int64)

    plugin.score_all(cycle, cycle.pod, Nodes.all(made.cache.table), scores)

    assert plugin.pre_enqueue(cycle.pod) is None
    assert plugin.pre_filter(cycle, cycle.pod) is SKIP
    assert plugin.pre_bind_pre_flight(cycle, cycle.pod, node("a").build()) is SKIP
    assert scores.tolist() == [0, 0]


def test_a_pod_fits_where_the_devices_are_that_its_claim_selects() -> None:
    made = cluster(offered("a", "old", "new"), offered("b", "old"), claimed("c", "new"))

    assert filtered(rule(made), made.cycle(using("c"))) == ["", "cannot allocate all claims"]


def test_pods_that_differ_in_labels_alone_share_what_was_found_for_their_extended_resource() -> (
    None
):
    made = Cluster(node("a"), node("b"))
    spec = {**GPU_CLASS["spec"], "extendedResourceName": "example.com/gpu"}
    made.add(decode_as({**GPU_CLASS, "spec": spec}, DeviceClass))
    made.add(offered("a", "old"))
    plugin = rule(made)
    pods = [
        pod(name).labelled({"pod": name}).requesting({"example.com/gpu": "1"})
        for name in ("x", "y")
    ]

    found = [filtered(plugin, made.cycle(each)) for each in pods]

    assert found == [["", "cannot allocate all claims"]] * 2
    assert len(device_cache(made.cache).columns) == 1


MANY = [f"example.com/gpu-{index}" for index in range(3)]


def with_classes(made: Cluster, *drivers: str) -> Cluster:
    """A class for each of MANY, which selects devices of a driver."""
    for resource, driver in zip(MANY, drivers, strict=True):
        selectors = [{"cel": {"expression": f"device.driver == '{driver}'"}}]
        spec = {"selectors": selectors, "extendedResourceName": resource}
        name = f"class-of-{resource[-1]}"
        made.add(decode_as({"metadata": {"name": name}, "spec": spec}, DeviceClass))
    return made


def searches(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The nodes that are searched from now on."""
    found: list[str] = []
    real = Allocator.allocate

    def allocate(self: Allocator, claims: Any) -> Any:
        found.append(self._node.name)
        return real(self, claims)

    monkeypatch.setattr(Allocator, "allocate", allocate)
    return found


def test_classes_that_select_the_same_are_searched_for_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = with_classes(Cluster(node("a"), node("b")), DRIVER, DRIVER, "other.example.com")
    made.add(offered("a", "old", "old"))
    plugin, searched = rule(made), searches(monkeypatch)
    pods = [pod(resource[-1]).requesting({resource: "1"}) for resource in MANY]

    refused = "cannot allocate all claims"
    assert [filtered(plugin, made.cycle(each)) for each in pods[:2]] == [["", refused]] * 2
    assert searched == ["a", "b"]
    assert filtered(plugin, made.cycle(pods[2])) == [refused, refused]


def test_each_gets_devices_of_its_own_and_by_its_own_class() -> None:
    """What was found for another tells that there is something, not what."""
    made = with_classes(Cluster(node("a")), DRIVER, DRIVER, DRIVER)
    made.add(offered("a", "old", "old"))
    plugin, got = rule(made), []

    for resource in MANY[:2]:
        cycle = made.cycle(pod(resource[-1]).requesting({resource: "1"}))
        assert filtered(plugin, cycle) == [""]
        assert plugin.reserve(cycle, cycle.pod, node("a").build()) is None
        state = cycle.state["DynamicResources"]
        (request,) = state.booked[0].spec.devices.requests
        (result,) = state.allocations[0].devices.results
        got.append((request.exactly.device_class_name, result.device, state.mappings[0]))

    assert [each[:2] for each in got] == [("class-of-0", "gpu-0"), ("class-of-1", "gpu-1")]
    assert [each[2].resource_name for each in got] == MANY[:2]
    full = made.cycle(pod("late").requesting({MANY[2]: "1"}))
    assert filtered(plugin, full) == ["cannot allocate all claims"]


def test_a_verdict_that_others_found_is_searched_for_its_devices_when_they_are_reserved() -> None:
    made = with_classes(Cluster(node("a")), DRIVER, DRIVER, DRIVER)
    made.add(offered("a", "old"))
    plugin = rule(made)
    first, second = (made.cycle(pod(each).requesting({each: "1"})) for each in MANY[:2])
    assert [filtered(plugin, each) for each in (first, second)] == [[""], [""]]

    assert plugin.reserve(second, second.pod, node("a").build()) is None

    (result,) = second.state["DynamicResources"].allocations[0].devices.results
    assert result.device == "gpu-0"


def test_a_class_that_selects_something_else_from_now_on_is_searched_for_anew() -> None:
    made = with_classes(Cluster(node("a")), DRIVER, DRIVER, DRIVER)
    made.add(offered("a", "old"))
    plugin, wanted = rule(made), pod("web").requesting({MANY[0]: "1"})
    assert filtered(plugin, made.cycle(wanted)) == [""]

    with_classes(made, "other.example.com", DRIVER, DRIVER)

    assert filtered(plugin, made.cycle(wanted)) == ["cannot allocate all claims"]


def test_a_claim_that_is_missing_keeps_its_pod_out_of_the_queue() -> None:
    made = cluster()

    said = rule(made).pre_enqueue(using("c").build())

    assert said == unresolvable('could not find ResourceClaim "default/c"')


def test_a_class_that_is_missing_refuses_the_pod_everywhere() -> None:
    made = Cluster(node("a"))
    made.add(claimed("c"))

    said = rule(made).pre_filter(made.cycle(using("c")), using("c").build())

    assert said == unresolvable("request r: device class gpu does not exist")


def test_what_one_pod_has_reserved_no_other_pod_gets_until_it_is_given_back() -> None:
    made = cluster(offered("a", "new"), claimed("c"), claimed("d"))
    plugin, cycle = reserved(made, using("c"), "a")
    other = made.cycle(using("d", name="other"))

    taken = filtered(plugin, other)
    plugin.unreserve(cycle, cycle.pod, node("a").build())

    assert taken == ["cannot allocate all claims"] * 2
    assert filtered(plugin, made.cycle(using("d", name="other")))[0] == ""


def test_a_claim_that_is_being_allocated_is_waited_for() -> None:
    made = cluster(offered("a", "new"), claimed("c"))
    plugin, _ = reserved(made, using("c"), "a")

    said = plugin.pre_filter(made.cycle(using("c", name="x")), using("c", name="x").build())

    assert said == unresolvable("resource claim default/c is in the process of being allocated")


def test_before_binding_the_claim_is_allocated_and_reserved_in_the_api_server() -> None:
    claim = claimed("c")
    made = cluster(offered("a", "new"), claim)
    plugin, cycle = reserved(made, using("c"), "a")
    cycle.client = server = Server(claim)

    asyncio.run(plugin.pre_bind(cycle, cycle.pod, node("a").build()))

    written = server.claims["c"]
    assert written["metadata"]["finalizers"] == ["resource.kubernetes.io/delete-protection"]
    assert written["status"]["allocation"]["devices"]["results"][0]["device"] == "gpu-0"
    assert written["status"]["reservedFor"][0]["uid"] == cycle.pod.uid
    assert filtered(plugin, made.cycle(using("c", name="x"))) == [
        "",
        "resourceclaim not available on the node",
    ]


def test_a_lost_reply_leaves_the_device_taken_until_it_is_known_what_was_written() -> None:
    claim = claimed("c")
    made = cluster(offered("a", "new"), claim, claimed("d"))
    plugin, cycle = reserved(made, using("c"), "a")
    cycle.client = Server(claim, lost=True)

    with pytest.raises(ConnectionError):
        asyncio.run(plugin.pre_bind(cycle, cycle.pod, node("a").build()))
    plugin.unreserve(cycle, cycle.pod, node("a").build())

    assert [errand.kind for errand in device_cache(made.cache).errands] == [ErrandKind.SETTLE]
    assert filtered(plugin, made.cycle(using("d")))[0] == "cannot allocate all claims"


def away_from_here() -> dict[str, Any]:
    """An allocation on a node that is gone."""
    result = {"request": "r", "driver": DRIVER, "pool": "z", "device": "gpu-0"}
    field = {"key": "metadata.name", "operator": "In", "values": ["gone"]}
    return {
        "devices": {"results": [result]},
        "nodeSelector": {"nodeSelectorTerms": [{"matchFields": [field]}]},
    }


def test_an_idle_claim_that_is_in_the_way_is_deallocated() -> None:
    made = cluster(offered("a", "new"), claimed("c", allocation=away_from_here()))
    plugin, cycle = rule(made), made.cycle(using("c"))

    said = plugin.post_filter(cycle, cycle.pod, diagnosed(plugin, cycle))

    assert said.reasons == ("deallocation of ResourceClaim completed",)
    assert [errand.kind for errand in device_cache(made.cache).errands] == [ErrandKind.DEALLOCATE]


@pytest.mark.parametrize(
    ("claims", "refused_before"),
    [
        pytest.param(("c",), ("a", "b"), id="no node passed the plugins before"),
        pytest.param(("c", "impossible"), (), id="no node has devices for another claim"),
    ],
)
def test_an_idle_claim_is_kept_that_is_not_what_a_node_was_refused_for(
    claims: tuple[str, ...], refused_before: tuple[str, ...]
) -> None:
    made = cluster(
        offered("a", "new"),
        claimed("c", allocation=away_from_here()),
        claimed("impossible", "old"),
    )
    plugin, cycle = rule(made), made.cycle(using(*claims))

    said = plugin.post_filter(cycle, cycle.pod, diagnosed(plugin, cycle, *refused_before))

    assert not said.reasons
    assert not device_cache(made.cache).errands


def test_nothing_is_allocated_before_everything_was_listed() -> None:
    made = cluster(offered("a", "new"), claimed("c"))
    device_cache(made.cache).unlisted = frozenset({"resourceclaims"})

    said = rule(made).pre_filter(made.cycle(using("c")), using("c").build())

    assert said == unresolvable("claims and devices are not known yet")


GROUP_CLAIMS = {"DRAWorkloadResourceClaims": True}
GROUP_USER = {
    "apiGroup": "scheduling.k8s.io",
    "resource": "podgroups",
    "name": "g",
    "uid": "uid-g",
}


def group_with(*claims: str) -> PodGroup:
    entries = [{"name": each, "resourceClaimName": each} for each in claims]
    metadata = {"name": "g", "namespace": "default", "uid": "uid-g"}
    return decode_as({"metadata": metadata, "spec": {"resourceClaims": entries}}, PodGroup)


def member(*claims: str, name: str = "web") -> PodBuilder:
    return using(*claims, name=name).with_spec(schedulingGroup={"podGroupName": "g"})


@pytest.mark.parametrize(
    ("gates", "group", "want"),
    [
        pytest.param(GROUP_CLAIMS, group_with("c"), GROUP_USER, id="a claim of the group"),
        pytest.param(GROUP_CLAIMS, group_with("d"), None, id="a claim of the pod alone"),
        pytest.param({}, group_with("c"), None, id="the gate is closed"),
    ],
)
def test_a_claim_is_reserved_for_the_group_that_has_the_same_entry(
    gates: dict[str, bool], group: PodGroup, want: dict[str, str] | None
) -> None:
    claim = claimed("c")
    made = cluster(offered("a", "new"), claim, group)
    plugin, cycle = reserved(made, member("c"), "a", **gates)
    cycle.client = server = Server(claim)

    asyncio.run(plugin.pre_bind(cycle, cycle.pod, node("a").build()))

    alone = {"resource": "pods", "name": cycle.pod.name, "uid": cycle.pod.uid}
    assert server.claims["c"]["status"]["reservedFor"] == [want or alone]


def test_nothing_is_written_for_another_pod_of_the_group() -> None:
    result = {"request": "r", "driver": DRIVER, "pool": "a", "device": "gpu-0"}
    allocation = {"devices": {"results": [result]}}
    claim = claimed("c", allocation=allocation, reservedFor=[GROUP_USER])
    made = cluster(offered("a", "new"), claim, group_with("c"))
    plugin, cycle = reserved(made, member("c", name="second"), "a", **GROUP_CLAIMS)
    cycle.client = server = Server(claim)

    asyncio.run(plugin.pre_bind(cycle, cycle.pod, node("a").build()))

    assert server.claims["c"]["metadata"]["resourceVersion"] == "1"


def test_a_pod_waits_for_the_group_whose_claims_it_may_use() -> None:
    made = cluster(offered("a", "new"), claimed("c"))

    said = rule(made, **GROUP_CLAIMS).pre_filter(made.cycle(member("c")), member("c").build())

    assert said == unresolvable('podgroup.scheduling.k8s.io "g" not found')


def owned_by_group(name: str) -> ResourceClaim:
    owner = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "name": "g",
        "uid": "uid-g",
        "controller": True,
    }
    raw = msgspec.to_builtins(claimed(name))
    raw["metadata"]["ownerReferences"] = [owner]
    return decode_as(raw, ResourceClaim)


def test_a_claim_that_was_made_for_the_group_serves_its_pods() -> None:
    made = cluster(offered("a", "new"), owned_by_group("made-c"), group_with())
    entries = [{"name": "c", "resourceClaimTemplateName": "t"}]
    statuses = [{"name": "c", "resourceClaimName": "made-c"}]
    raw = msgspec.to_builtins(member().with_spec(resourceClaims=entries).build())
    wanted = decode_as({**raw, "status": {"resourceClaimStatuses": statuses}}, Pod)

    assert rule(made, **GROUP_CLAIMS).pre_enqueue(wanted) is None
    assert rule(made).pre_enqueue(wanted) == unresolvable(
        "ResourceClaim default/made-c was not created for Pod default/web (Pod is not owner)"
    )


def test_a_claim_of_the_group_in_the_way_is_deallocated_while_no_pod_of_it_is_placed() -> None:
    claim = claimed("c", allocation=away_from_here(), reservedFor=[GROUP_USER])
    made = cluster(offered("a", "new"), claim, group_with("c"))
    plugin, cycle = rule(made, **GROUP_CLAIMS), made.cycle(member("c"))
    diagnosis = diagnosed(plugin, cycle)

    said = plugin.post_filter(cycle, cycle.pod, diagnosis)
    made.add(member("c", name="first").on("b"))
    later = plugin.post_filter(cycle, cycle.pod, diagnosis)

    assert said.reasons == ("deallocation of PodGroup ResourceClaim completed",)
    assert not later.reasons
    assert [errand.kind for errand in device_cache(made.cache).errands] == [ErrandKind.DEALLOCATE]


def placed_together(
    made: Cluster, plugin: DynamicResources, where: str, *names: str
) -> list[Cycle]:
    """Pods of a group with one claim, placed in one transaction."""
    shared: set[str] = set()
    cycles = [made.cycle(using("c", name=name)) for name in names]
    for cycle in cycles:
        cycle.state[SHARED_IN_GROUP] = shared
        assert filtered(plugin, cycle)[0] == ""
        assert plugin.reserve(cycle, cycle.pod, node(where).build()) is None
    return cycles


def test_pods_of_a_group_share_a_claim_that_is_being_allocated_for_it() -> None:
    claim = claimed("c")
    made = cluster(offered("a", "new"), offered("b", "new"), claim)
    plugin, server = rule(made), Server(claim)
    cycles = placed_together(made, plugin, "a", "x", "y", "z")
    elsewhere = made.cycle(using("c", name="w"))

    said = plugin.pre_filter(elsewhere, elsewhere.pod)
    assert said == unresolvable("resource claim default/c is in the process of being allocated")

    async def bind() -> None:
        for cycle in cycles:
            cycle.client = server
        where = node("a").build()
        await asyncio.gather(*(plugin.pre_bind(each, each.pod, where) for each in cycles))

    asyncio.run(bind())
    users = [each["name"] for each in server.claims["c"]["status"]["reservedFor"]]
    assert sorted(users) == ["x", "y", "z"]


def test_the_node_of_the_first_pod_is_where_the_others_may_go() -> None:
    made = cluster(offered("a", "new"), offered("b", "new"), claimed("c"))
    plugin = rule(made)
    first, second = placed_together(made, plugin, "a", "x", "y")

    assert filtered(plugin, second) == ["", "resourceclaim not available on the node"]
    assert first.state[SHARED_IN_GROUP] == {"uid-c"}


def test_devices_are_free_again_when_the_last_pod_of_the_group_gives_them_back() -> None:
    made = cluster(offered("a", "new"), claimed("c"), claimed("d"))
    plugin = rule(made)
    first, second = placed_together(made, plugin, "a", "x", "y")
    where = node("a").build()

    plugin.unreserve(second, second.pod, where)
    assert filtered(plugin, made.cycle(using("d")))[0] == "cannot allocate all claims"
    plugin.unreserve(first, first.pod, where)

    assert filtered(plugin, made.cycle(using("d")))[0] == ""
    assert first.state[SHARED_IN_GROUP] == set()


DEAR = "lists.range(100).all(x, lists.range(100).all(y, x + y >= 0))"
"""It costs some 90,000 units."""
TIMED_OUT_PROBLEM = "node {}: timed out trying to allocate devices"


def dear_cluster(nodes: int) -> tuple[Cluster, DynamicResources]:
    names = [f"n{number}" for number in range(nodes)]
    made = Cluster(*(node(name) for name in names))
    made.add(decode_as(GPU_CLASS, DeviceClass))
    for name in names:
        made.add(offered(name, "old"))
    chosen = [{"cel": {"expression": DEAR}}]
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    spec = {"devices": {"requests": [{"name": "r", "exactly": {**exactly, "selectors": chosen}}]}}
    metadata = {"name": "c", "namespace": "default", "uid": "uid-c"}
    made.add(decode_as({"metadata": metadata, "spec": spec}, ResourceClaim))
    return made, rule(made)


def codes(plugin: DynamicResources, cycle: Cycle, units: float) -> list[int]:
    """What an attempt with so much of a budget says of each node."""
    cycle.budget = WorkBudget(units / UNITS_PER_SECOND)
    assert plugin.pre_filter(cycle, cycle.pod) is None
    nodes = Nodes.all(cycle.table)
    out = np.zeros(nodes.count, dtype=np.int32)
    plugin.filter_all(cycle, cycle.pod, nodes, out)
    return [int(code) for code in out]


def test_nodes_for_which_no_budget_is_left_are_searched_by_the_next_attempts() -> None:
    made, plugin = dear_cluster(6)
    attempts = [codes(plugin, made.cycle(using("c")), 250_000) for _ in range(4)]

    assert [each.count(TIMED_OUT) for each in attempts] == [4, 2, 0, 0]
    assert {code for each in attempts for code in each} == {0, TIMED_OUT}


def test_a_node_that_takes_all_of_the_budget_comes_after_the_others() -> None:
    made, plugin = dear_cluster(2)

    first = codes(plugin, made.cycle(using("c")), 50_000)
    second = codes(plugin, made.cycle(using("c")), 100_000)

    assert first == [TIMED_OUT, TIMED_OUT]
    assert second == [TIMED_OUT, 0]


def test_an_attempt_that_finds_no_node_for_want_of_a_budget_fails_as_by_a_time_out() -> None:
    made, plugin = dear_cluster(3)
    cycle = made.cycle(using("c"))

    assert codes(plugin, cycle, 50_000) == [TIMED_OUT] * 3
    with pytest.raises(PluginError, match=TIMED_OUT_PROBLEM.format("n0")):
        plugin.rejection(cycle, cycle.pod, TIMED_OUT)


def test_the_filter_timeout_is_part_of_the_budget_and_counts_selectors() -> None:
    made, _ = dear_cluster(1)
    plugin = DynamicResources(filter_timeout="10ms")
    give_handle(plugin, Handle("DynamicResources", made.cache, lambda: 1_000_000.0, {}))
    cycle = made.cycle(using("c"))

    assert codes(plugin, cycle, 5_000_000) == [BROKEN]
    with pytest.raises(PluginError, match=TIMED_OUT_PROBLEM.format("n0")):
        plugin.rejection(cycle, cycle.pod, BROKEN)


def test_a_pod_is_placed_among_the_nodes_that_were_searched() -> None:
    made, _ = dear_cluster(4)
    cycle = made.cycle(using("c"))
    cycle.budget = WorkBudget(100_000 / UNITS_PER_SECOND)

    decided = attempt.run(made.profile, cycle)

    assert isinstance(decided, Decision)
    assert decided.node == "n0"
