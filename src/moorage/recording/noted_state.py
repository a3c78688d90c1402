"""State of features that plugins read besides the cache: recorded on change, and restored.

Each kind of state is read before every attempt, which costs almost nothing while there is none.
The plugins' own state is not included, because a replayed plugin builds it up again.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from moorage.api import podgroup
from moorage.cycle.scoring import IN_ORDER
from moorage.devices.claim_tracker import SHARED_IN_GROUP
from moorage.devices.device_cache import DeviceCache, device_cache
from moorage.framework.cycle import Cycle
from moorage.framework.eviction import BEING_EVICTED, SPARES
from moorage.gang import topology
from moorage.gang.directory import Directory
from moorage.gang.group import Group
from moorage.gang.holds import Hold, Holds, Room
from moorage.gang.plugin import DOMAIN, NO_GROUPS, GroupView
from moorage.gang.plugin import NAME as GANGS
from moorage.policies.business import price_table
from moorage.policies.business.price_table import Instance, PriceTable
from moorage.policies.telemetry import latency_measurements, node_measurements
from moorage.policies.telemetry.node_measurements import Energy, Measurements, Usage
from moorage.preemption.loop_guard import LoopGuard
from moorage.preemption.spared import Rule


class NotedState:
    """One kind of state; `read` returns plain data, or None if there is none.

    `read` is called if `version` has changed. For state that is cheap to read, the version is the
    value itself.
    """

    name = ""
    of_attempt = False
    """Whether a replay restores it for every attempt, and not only after a change."""

    def version(self, cycle: Cycle) -> Any:
        return self.read(cycle)

    def read(self, cycle: Cycle) -> Any:
        raise NotImplementedError

    def put_back(self, cycle: Cycle, value: Any) -> None:
        raise NotImplementedError


class BeingEvicted(NotedState):
    """Pods that are being evicted, even if their objects do not show it yet."""

    name = "being evicted"

    def read(self, cycle: Cycle) -> Any:
        found = cycle.shared.get(BEING_EVICTED)
        return sorted(found) if found else None

    def put_back(self, cycle: Cycle, value: Any) -> None:
        cycle.shared[BEING_EVICTED] = set(value or ())


class Spared(NotedState):
    """Pods that may not be evicted although their priority is lower."""

    name = "spared"

    def read(self, cycle: Cycle) -> Any:
        rule = cycle.shared.get(SPARES)
        if not isinstance(rule, Rule):
            return None
        stopped = [[*pair, until] for pair, until in rule.guard.stops().items()]
        return [dict(rule.by_class), rule.default, stopped]

    def put_back(self, cycle: Cycle, value: Any) -> None:
        if value is None:
            cycle.shared[SPARES] = None
            return
        by_class, default, stopped = value
        stops = {(evicts, leaves): until for evicts, leaves, until in stopped}
        cycle.shared[SPARES] = Rule(LoopGuard(stops=stops), by_class, default)


class GangRooms(NotedState):
    """The nodes that a pod of a group is limited to, and the holds of other groups."""

    name = "gangs"
    of_attempt = True

    def read(self, cycle: Cycle) -> Any:
        groups, holds = cycle.shared.get(GANGS, NO_GROUPS)
        domain = cycle.state.get(DOMAIN)
        grouped = domain is not None or podgroup.group_key(cycle.pod) is not None
        if not grouped and not len(holds):
            return None
        group = groups.of(cycle.pod)
        if domain is None and group is not None:
            domain = topology.joined_nodes(group, cycle.cache)
        held = [_held(hold, cycle) for hold in holds.over(cycle.pod, group, cycle.now)]
        in_order = IN_ORDER in cycle.state
        if domain is None and not held and not in_order:
            return None
        return [None if domain is None else sorted(domain), held, in_order]

    def put_back(self, cycle: Cycle, value: Any) -> None:
        domain, held, *in_order = (None, []) if value is None else value
        if domain is not None:
            cycle.state[DOMAIN] = frozenset(domain)
        if any(in_order):
            cycle.state[IN_ORDER] = True
        holds = GivenHolds([_hold(each, cycle) for each in held])
        cycle.shared[GANGS] = GroupView(Directory(), holds)


class GivenHolds(Holds):
    """The recorded holds of other groups, which a pod may not use."""

    def __init__(self, held: list[Hold]) -> None:
        super().__init__()
        for hold in held:
            self.put(hold)

    def over(self, pod: Any, own: Group | None, now: float) -> list[Hold]:
        return list(self)


def _held(hold: Hold, cycle: Cycle) -> Any:
    names = cycle.table.resources.values
    rooms = {
        node: [room.pods, {names[index]: amount for index, amount in room.requests.items()}]
        for node, room in hold.rooms.items()
    }
    return [hold.group.key, rooms]


def _hold(value: Any, cycle: Cycle) -> Hold:
    key, rooms = value
    index = cycle.table.resources.intern
    made = {
        node: Room(pods, {index(name): amount for name, amount in requests.items()})
        for node, (pods, requests) in rooms.items()
    }
    return Hold(Group(key), made)


class Measured(NotedState):
    """The last measurement of each node, as written by a feed."""

    def __init__(self, name: str, unknown: type[Usage] | type[Energy]) -> None:
        self.name = name
        self._unknown = unknown

    def version(self, cycle: Cycle) -> Any:
        store = cycle.shared.get(self.name)
        return None if store is None else store.version

    def read(self, cycle: Cycle) -> Any:
        store = cycle.shared.get(self.name)
        return dict(store.known) if isinstance(store, Measurements) else None

    def put_back(self, cycle: Cycle, value: Any) -> None:
        if value is None:
            cycle.shared.pop(self.name, None)
            return
        store = cycle.shared.setdefault(self.name, Measurements(self._unknown()))
        for node in [each for each in store.known if each not in value]:
            store.forget(node)
        for node, measured in value.items():
            store.record(node, self._unknown(*measured))


class Latencies(NotedState):
    """Measured latencies."""

    name = latency_measurements.LATENCY_STORE

    def version(self, cycle: Cycle) -> Any:
        store = cycle.shared.get(self.name)
        return None if store is None else store.version

    def read(self, cycle: Cycle) -> Any:
        store = cycle.shared.get(self.name)
        if store is None:
            return None
        return [[*pair, *measured] for pair, measured in store.measured.items()]

    def put_back(self, cycle: Cycle, value: Any) -> None:
        cycle.shared.pop(self.name, None)
        if value is not None:
            store = latency_measurements.latency_store(cycle.shared)
            for start, end, milliseconds, at in value:
                store.record(start, end, milliseconds, at)


class Prices(NotedState):
    """Prices of instances."""

    name = price_table.PRICES

    def version(self, cycle: Cycle) -> Any:
        return cycle.shared.get(self.name)

    def read(self, cycle: Cycle) -> Any:
        found = cycle.shared.get(self.name)
        return None if found is None else [[*line, price] for line, price in found.lines()]

    def put_back(self, cycle: Cycle, value: Any) -> None:
        cycle.shared.pop(self.name, None)
        if value is not None:
            table = {Instance(*line): price for *line, price in value}
            cycle.shared[self.name] = PriceTable(table)


class UnlistedDevices(NotedState):
    """Resources of devices that are not completely listed yet."""

    name = "unlisted devices"

    def read(self, cycle: Cycle) -> Any:
        return sorted(device_cache(cycle.cache).unlisted) or None

    def put_back(self, cycle: Cycle, value: Any) -> None:
        device_cache(cycle.cache).unlisted = frozenset(value or ())


class SharedClaims(NotedState):
    """Claims with an allocation in flight for other pods of the group that is being placed."""

    name = "claims shared in group"

    def read(self, cycle: Cycle) -> Any:
        return sorted(cycle.state.get(SHARED_IN_GROUP, ())) or None

    def put_back(self, cycle: Cycle, value: Any) -> None:
        cycle.state[SHARED_IN_GROUP] = set(value or ())


STATES: Final[tuple[NotedState, ...]] = (
    BeingEvicted(),
    Spared(),
    GangRooms(),
    UnlistedDevices(),
    SharedClaims(),
    Measured(node_measurements.USAGE_STORE, Usage),
    Measured(node_measurements.ENERGY_STORE, Energy),
    Latencies(),
    Prices(),
)


_STORES: Final = frozenset(state.name for state in STATES if isinstance(state, Measured)) | {
    Latencies.name,
    Prices.name,
}
_GROUPED: Final = "recording/grouped"


def is_quiet(cycle: Cycle, devices: DeviceCache) -> bool:
    """Whether no kind of state has a value; one quick check, made before every attempt."""
    shared = cycle.shared
    if shared.get(BEING_EVICTED) or shared.get(SPARES) is not None:
        return False
    if devices.unlisted or not _STORES.isdisjoint(shared) or DOMAIN in cycle.state:
        return False
    view = shared.get(GANGS)
    if view is not None and len(view.holds):
        return False
    memo = cycle.incoming.cls.memo
    grouped = memo.get(_GROUPED)
    if grouped is None:
        grouped = memo[_GROUPED] = bool(podgroup.group_names(cycle.pod))
    return not grouped


def by_name(states: Iterable[NotedState] = STATES) -> Mapping[str, NotedState]:
    return {state.name: state for state in states}
