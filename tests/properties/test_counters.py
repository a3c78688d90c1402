"""Pod counters under any sequence of events equal a count over all pods."""

from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from moorage.api import selectors
from moorage.api.decode import decode_as
from moorage.api.meta import LabelSelector, LabelSelectorRequirement
from moorage.api.node import Node
from moorage.api.pod import Pod
from moorage.cache import affinity_terms
from moorage.cache.cache import Cache
from moorage.cache.pod_counters import PodCounters
from moorage.cache.pod_selection import Clause, PodSelection
from moorage.cache.podinfo import PodInfo
from moorage.cache.topology_counts import NO_LEAST, DomainSums, Tally
from moorage.cache.topology_domains import Domains

NODES = [f"n{index}" for index in range(5)]
PODS = [f"p{index}" for index in range(10)]
KEYS = ["zone", "host"]

SELECTORS = [
    selectors.compile(selector)
    for selector in (
        LabelSelector(match_labels={"app": "a"}),
        LabelSelector(match_labels={"app": "a", "tier": "x"}),
        LabelSelector(
            match_expressions=(
                LabelSelectorRequirement(key="app", operator="In", values=("a", "b")),
            )
        ),
        LabelSelector(match_expressions=(LabelSelectorRequirement(key="tier", operator="Exists"),)),
        LabelSelector(),
        None,
    )
]
NAMESPACES = [None, frozenset({"one", "two"}), frozenset({"one"}), frozenset[str]()]


class OnSsd:
    """Nodes with an ssd count."""

    def mask(self, nodes: Any) -> Any:
        return nodes.label("disk") == (nodes.table.label("disk").values.find("ssd") or -1)


ON_SSD = OnSsd()

selections = st.builds(
    PodSelection,
    clauses=st.lists(
        st.builds(Clause, st.sampled_from(NAMESPACES), st.sampled_from(SELECTORS)),
        min_size=1,
        max_size=2,
    ).map(tuple),
    dying=st.booleans(),
)


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    name = draw(st.sampled_from(NODES))
    labels = {"zone": draw(st.sampled_from("xyz")), "host": draw(st.sampled_from([name, "same"]))}
    labels["disk"] = draw(st.sampled_from(["ssd", "hdd"]))
    for missing in draw(st.lists(st.sampled_from(sorted(labels)), max_size=1)):
        del labels[missing]
    return decode_as({"metadata": {"name": name, "labels": labels}}, Node)


@st.composite
def pods(draw: st.DrawFn) -> Pod:
    term = {
        "labelSelector": {"matchLabels": {"app": draw(st.sampled_from("aab"))}},
        "topologyKey": "zone",
    }
    name = draw(st.sampled_from(PODS))
    metadata: dict[str, Any] = {
        "name": name,
        "uid": name,
        "namespace": draw(st.sampled_from(["one", "one", "two"])),
        "labels": draw(
            st.sampled_from([{"app": "a"}, {"app": "a", "tier": "x"}, {"app": "b"}, {"tier": "x"}])
        ),
    }
    if draw(st.integers(0, 4)) == 0:
        metadata["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    spec: dict[str, Any] = {"nodeName": draw(st.sampled_from(NODES))}
    if draw(st.integers(0, 2)) == 0:
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        spec["affinity"] = {"podAntiAffinity": required}
    return decode_as({"metadata": metadata, "spec": spec}, Pod)


Step = Callable[[Cache], None]


def _restart_logs(cache: Cache) -> None:
    cache.table.pod_log.restart()
    cache.table.node_log.restart()


def _put_node(node: Node) -> Step:
    return lambda cache: cache.put_node(node)


def _remove_node(node: Node) -> Step:
    return lambda cache: cache.remove_node(node)


def _put_pod(pod: Pod) -> Step:
    return lambda cache: cache.put_pod(pod)


def _remove_pod(uid: str) -> Step:
    def step(cache: Cache) -> None:
        cache.remove_pod(uid)

    return step


_COMMON = [nodes().map(_put_node), pods().map(_put_pod), pods().map(_put_pod)]
_RARE = [nodes().map(_remove_node), st.sampled_from(PODS).map(_remove_pod), st.just(_restart_logs)]
steps: st.SearchStrategy[Step] = st.one_of(*_COMMON * 3, *_RARE)


def counted(cache: Cache, wanted: Callable[[PodInfo], int]) -> dict[int, int]:
    """The specification: look at every pod on every node."""
    found = {
        row: sum(wanted(pod) for pod in pods.values()) for row, pods in enumerate(cache.table.pods)
    }
    return {row: number for row, number in found.items() if number}


def selects(selection: PodSelection, pod: PodInfo) -> bool:
    if pod.pod.is_terminating and not selection.dying:
        return False
    return all(
        (clause.namespaces is None or pod.pod.namespace in clause.namespaces)
        and clause.selector.matches(pod.pod.labels)
        for clause in selection.clauses
    )


def check_tally(cache: Cache, counters: PodCounters, tally: Tally, want: dict[int, int]) -> None:
    rows = tally.count[: cache.table.rows].tolist()
    assert want == {row: number for row, number in enumerate(rows) if number}
    for key in KEYS:
        for eligible in (None, ON_SSD):
            domains = counters.topologies.domains(key, eligible)
            check_sums(cache, tally.over(domains), domains, key, want, eligible is not None)


def check_sums(
    cache: Cache, sums: DomainSums, domains: Domains, key: str, want: dict[int, int], ssd_only: bool
) -> None:
    expected: Counter[str] = Counter()
    domain_of: dict[str, int] = {}
    members: Counter[str] = Counter()
    for row in cache.table.row_of.values():
        labels = cache.table.node(row).labels
        if key in labels and (not ssd_only or labels.get("disk") == "ssd"):
            assert domain_of.setdefault(labels[key], int(domains.of_row[row])) == int(
                domains.of_row[row]
            )
            expected[labels[key]] += want.get(row, 0)
            members[labels[key]] += 1
        else:
            assert domains.of_row[row] == 0
    assert len(set(domain_of.values())) == len(domain_of) == domains.present
    assert domains.counted == members.total()
    for value, domain in domain_of.items():
        assert domain
        assert expected[value] == int(sums.values[domain])
        assert members[value] == int(domains.members[domain])
    assert int(sums.values.sum()) == expected.total()
    assert sums.least == min((expected[value] for value in domain_of), default=NO_LEAST)
    assert sums.most == max((expected[value] for value in domain_of), default=0)


def check(cache: Cache, counters: PodCounters, asked: list[PodSelection]) -> None:
    counters.catch_up()
    for selection in asked:
        want = counted(cache, lambda pod, each=selection: int(selects(each, pod)))  # type: ignore[misc]
        check_tally(cache, counters, counters.selected(selection), want)
    check_carried(cache, counters)


def check_carried(cache: Cache, counters: PodCounters) -> None:
    """Terms that mean a pod labelled app=a in namespace one, weighed by 3."""
    found = counters.census.terms_about("one", {"app": "a"}, {})
    terms = {carried.term for carried in found}

    def weight(pod: PodInfo) -> int:
        carried = affinity_terms.parse(pod.pod).anti_affinity
        return sum(3 * term.matches("one", {"app": "a"}, {}) for term in carried)

    present = {
        term
        for _, pod in cache.pods()
        if cache.node_of(pod.uid) in cache.table.row_of
        for term in affinity_terms.parse(pod.pod).anti_affinity
        if term.matches("one", {"app": "a"}, {})
    }
    assert present <= terms
    tally = counters.carrying(tuple((carried, 3) for carried in found))
    check_tally(cache, counters, tally, counted(cache, weight))


@given(
    st.lists(steps, min_size=10, max_size=40),
    st.lists(selections, min_size=1, max_size=3),
    st.sampled_from([1, 1 << 20]),
    st.sampled_from([0, 1 << 20]),
)
def test_counters_equal_a_scan_after_every_event(
    events: list[Step], asked: list[PodSelection], budget: int, sweep_after: int
) -> None:
    """Also with memory for hardly any tally, and with populations swept all the time."""
    cache = Cache()
    counters = PodCounters(cache.table, budget, sweep_after)
    for event in events:
        event(cache)
        check(cache, counters, asked)


@given(st.lists(st.one_of(_COMMON[0], _RARE[0]), max_size=40), selections)
def test_domains_follow_nodes(events: list[Step], asked: PodSelection) -> None:
    cache = Cache()
    counters = PodCounters(cache.table)
    for event in events:
        event(cache)
        check(cache, counters, [asked])


@given(st.lists(steps, max_size=12), st.lists(steps, max_size=12), selections)
def test_a_trial_is_counted_and_taken_back(
    before: list[Step], tried: list[Step], asked: PodSelection
) -> None:
    cache = Cache()
    counters = PodCounters(cache.table)
    for event in before:
        event(cache)
    check(cache, counters, [asked])
    with cache.trial():
        for event in tried:
            event(cache)
            check(cache, counters, [asked])
    check(cache, counters, [asked])


@given(st.lists(steps, max_size=40), st.lists(selections, min_size=1, max_size=3))
def test_many_events_are_caught_up_with_at_once(
    events: list[Step], asked: list[PodSelection]
) -> None:
    cache = Cache()
    counters = PodCounters(cache.table)
    check(cache, counters, asked)
    for number in range(100):
        labels = {"host": f"m{number}", "disk": "ssd"}
        cache.put_node(decode_as({"metadata": {"name": f"m{number}", "labels": labels}}, Node))
    check(cache, counters, asked)
    for event in events:
        event(cache)
    check(cache, counters, asked)
