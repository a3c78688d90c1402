"""Moorage calls extenders, as kube-scheduler does."""

import contextlib
import subprocess
from collections.abc import Iterator
from pathlib import Path
from ssl import CERT_REQUIRED, PROTOCOL_TLS_SERVER, SSLContext
from typing import Any

import msgspec
import pytest

from moorage.config.durations import decode_hook
from moorage.config.types import Extender
from moorage.cycle import attempt
from moorage.cycle.attempt import Decision, Unschedulable
from moorage.extender import http_extenders
from moorage.extender.async_bridge import BlockingBridge
from moorage.extender.http_extenders import HttpExtenders
from moorage.framework.extenders import ExtenderError
from moorage.framework.verdicts import Code, Nominated, Rejection
from moorage.preemption.plugin import nominate
from moorage.preemption.victims import Victims
from moorage.testing import Cluster, PodBuilder, node, pod
from tests.extending import FakeExtender, Verb, extender, only, scores

Raw = dict[str, Any]


class Heard:
    """What observers are told."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str]] = []
        self.failures: list[str] = []

    def called(self, extender: str, verb: str, result: str, seconds: float) -> None:
        self.calls.append((verb, result))

    def failed(self, pod: str, attempt: str, error: BaseException) -> None:
        self.failures.append(str(error))


@contextlib.contextmanager
def configured(*given: Raw) -> Iterator[HttpExtenders]:
    asking = BlockingBridge()
    decoded = [msgspec.convert(each, Extender, dec_hook=decode_hook) for each in given]
    made = http_extenders.build_extenders(decoded, asking, Heard())
    assert made is not None
    try:
        yield made
    finally:
        asking.ask(made.close)
        asking.close()


def decide(
    cluster: Cluster, incoming: PodBuilder, *given: Raw, keep: bool = False
) -> Decision | Unschedulable:
    with configured(*given) as extenders:
        cycle = cluster.cycle(incoming)
        cycle.extenders = extenders
        return attempt.run(cluster.profile, cycle, keep_scores=keep)


def three() -> Cluster:
    return Cluster(*(node(name).offering(cpu="4", memory="8Gi", pods="10") for name in "abc"))


def test_a_node_that_an_extender_refuses_is_not_chosen() -> None:
    with extender(filter=only("b")) as fake:
        decided = decide(three(), pod("web"), fake.config())

    assert isinstance(decided, Decision)
    assert (decided.node, decided.feasible) == ("b", 1)


def test_an_extender_is_asked_about_the_nodes_that_plugins_left() -> None:
    cluster = Cluster(node("a"), node("b").cordoned(), node("c"))

    with extender(filter=only("a", "b", "c")) as fake:
        decide(cluster, pod("web").labelled(app="shop").annotated(note="x"), fake.config())

    (asked,) = fake.requests("filter")
    assert sorted(asked["NodeNames"]) == ["a", "c"]
    assert asked["Nodes"] is None
    assert asked["Pod"]["metadata"]["labels"] == {"app": "shop"}
    assert asked["Pod"]["metadata"]["annotations"] == {"note": "x"}


def test_an_extender_without_a_cache_is_sent_whole_nodes() -> None:
    def pick(asked: Raw) -> Raw:
        items = asked["Nodes"]["items"]
        return {"Nodes": {"items": [n for n in items if n["metadata"]["labels"]["disk"] == "ssd"]}}

    cluster = Cluster(node("a").labelled(disk="hdd"), node("b").labelled(disk="ssd"))
    with extender(filter=pick) as fake:
        decided = decide(cluster, pod("web"), fake.config(nodeCacheCapable=False))

    assert isinstance(decided, Decision)
    assert decided.node == "b"
    assert fake.requests("filter")[0]["NodeNames"] is None


def test_extenders_filter_in_order_each_what_the_one_before_left_and_ignorable_ones_last() -> None:
    with extender(filter=only("a", "b")) as first, extender(filter=only("b", "c")) as second:
        decided = decide(
            three(), pod("web"), first.config(ignorable=True), second.config(ignorable=False)
        )

    assert isinstance(decided, Decision)
    assert decided.node == "b"
    assert second.requests("filter")[0]["NodeNames"] == ["a", "b", "c"]
    assert first.requests("filter")[0]["NodeNames"] == ["b", "c"]


def test_refusals_are_explained_in_the_extenders_words_and_those_without_words_are_not() -> None:
    def answer(asked: Raw) -> Raw:
        return {
            "NodeNames": [],
            "FailedNodes": {"a": "no licence", "b": "no licence"},
            "FailedAndUnresolvableNodes": {"b": "no rack"},
        }

    with extender(filter=answer) as fake:
        decided = decide(three(), pod("web"), fake.config())

    assert isinstance(decided, Unschedulable)
    assert decided.message.startswith("0/3 nodes are available: 1 no licence, 1 no rack.")
    rows, diagnosis = three().cache.table.row_of, decided.diagnosis
    codes = {name: said.code for name in "abc" if (said := diagnosis.rejection(rows[name]))}
    assert codes == {"a": Code.UNSCHEDULABLE, "b": Code.UNRESOLVABLE, "c": Code.UNRESOLVABLE}
    assert diagnosis.unschedulable_plugins == {"Extender"}


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param({"nodenames": ["b"]}, id="in small letters"),
        pytest.param({"nodeNames": ["b"], "failedNodes": {"a": "no"}}, id="in camel case"),
        pytest.param({"NodeNames": ["b"], "Error": None}, id="with null for no error"),
        pytest.param({"NodeNames": ["b"], "Version": 2}, id="with a field nobody knows"),
        pytest.param({"NodeNames": ["b", "b"]}, id="naming a node twice"),
    ],
)
def test_an_answer_is_read_as_go_reads_it(answer: Raw) -> None:
    with extender(filter=lambda asked: answer) as fake:
        decided = decide(three(), pod("web"), fake.config())

    assert isinstance(decided, Decision)
    assert decided.node == "b"


def failing(fake: FakeExtender, how: str) -> Raw:
    """The configuration of an extender that fails in one of the ways there are."""
    if how == "is gone":
        fake.stop()
    elif how == "is slow":
        fake.delay = 5.0
        return fake.config(httpTimeout="50ms")
    elif how == "answers 500":
        fake.status = 500
    return fake.config()


FAILURES: dict[str, tuple[Verb, str]] = {
    "is gone": (lambda asked: {}, "Connect"),
    "is slow": (lambda asked: {}, "no answer within 0.05s .httpTimeout."),
    "answers 500": (lambda asked: {}, "failed filter with extender at URL .*, code 500"),
    "reports an error": (lambda asked: {"Error": "out of order"}, "^out of order$"),
    "answers a list": (lambda asked: [1], "cannot be read"),
    "names a node it was not asked about": (
        lambda asked: {"NodeNames": ["z"]},
        "claims a filtered node 'z' which is not found in the input node list",
    ),
}


@pytest.mark.parametrize("how", FAILURES)
def test_an_attempt_fails_with_an_extender_that_counts(how: str) -> None:
    answer, said = FAILURES[how]
    with extender(filter=answer) as fake, pytest.raises(ExtenderError, match=said):
        decide(three(), pod("web"), failing(fake, how))


@pytest.mark.parametrize("how", FAILURES)
def test_an_attempt_goes_on_without_an_extender_that_may_be_ignored(how: str) -> None:
    answer, _ = FAILURES[how]
    with extender(filter=answer) as fake:
        decided = decide(three(), pod("web"), {**failing(fake, how), "ignorable": True})

    assert isinstance(decided, Decision)
    assert decided.feasible == 3


def test_scores_are_scaled_weighted_and_added() -> None:
    with extender(prioritize=scores(a=1, b=10)) as one, extender(prioritize=scores(a=3)) as two:
        decided = decide(three(), pod("web"), one.config(weight=5), two.config(weight=2), keep=True)

    assert isinstance(decided, Decision)
    assert decided.node == "b"
    scoring = decided.scoring
    assert scoring is not None
    parts = {scoring.nodes.node(i).name: scoring.of(i) for i in range(3)}
    assert [parts[name][one.url] for name in "abc"] == [50, 500, 0]
    assert [parts[name][two.url] for name in "abc"] == [60, 0, 0]


def test_scores_beyond_all_measure_wrap_as_they_do_in_go() -> None:
    with extender(prioritize=scores(a=2**63 - 1, b=1)) as fake:
        decided = decide(three(), pod("web"), fake.config(weight=1), keep=True)

    assert isinstance(decided, Decision)
    assert decided.node == "b"
    assert decided.scoring is not None
    assert decided.scoring.of(0)[fake.url] == -10


def test_scores_that_are_no_int64_are_done_without() -> None:
    with extender(prioritize=scores(a=2**63)) as fake, extender(prioritize=scores(c=10)) as other:
        decided = decide(three(), pod("web"), fake.config(), other.config())

    assert isinstance(decided, Decision)
    assert decided.node == "c"


@pytest.mark.parametrize("how", ["is gone", "is slow", "answers 500"])
def test_scores_that_do_not_come_are_done_without(how: str) -> None:
    with extender(prioritize=lambda asked: []) as fake, extender(prioritize=scores(c=10)) as other:
        decided = decide(three(), pod("web"), failing(fake, how), other.config())

    assert isinstance(decided, Decision)
    assert decided.node == "c"


@pytest.mark.parametrize(
    ("incoming", "asked"),
    [
        pytest.param(pod("web"), 0, id="a pod that asks for nothing it manages"),
        pytest.param(pod("web").requesting({"example.com/gpu": "1"}), 1, id="a pod that does"),
    ],
)
def test_an_extender_that_manages_resources_is_asked_about(
    incoming: PodBuilder, asked: int
) -> None:
    cluster = Cluster(*(node(n).offering({"example.com/gpu": "4", "pods": "9"}) for n in "abc"))
    with extender(filter=only("b")) as fake:
        decide(cluster, incoming, fake.config(managedResources=[{"name": "example.com/gpu"}]))

    assert len(fake.asked) == asked


def test_a_nominated_node_is_put_to_extenders_too() -> None:
    incoming = pod("web").build()
    status = msgspec.structs.replace(incoming.status, nominated_node_name="a")
    cluster = three()
    with extender(filter=only("c")) as fake, configured(fake.config()) as extenders:
        cycle = cluster.cycle(msgspec.structs.replace(incoming, status=status))
        cycle.extenders = extenders
        decided = attempt.run(cluster.profile, cycle)

    assert isinstance(decided, Decision)
    assert decided.node == "c"
    assert [asked["NodeNames"] for asked in fake.requests("filter")] == [["a"], ["a", "b", "c"]]


def test_a_nominated_node_that_an_extender_could_not_judge_is_one_of_all() -> None:
    """The extender fails at the nominated node alone, and answers when it is asked about all."""

    def filter(asked: Raw) -> Raw:
        alone = len(asked["NodeNames"]) == 1
        return {"Error": "out of order"} if alone else only("c")(asked)

    status = msgspec.structs.replace(pod("web").build().status, nominated_node_name="a")
    incoming = msgspec.structs.replace(pod("web").build(), status=status)
    cluster = three()
    with extender(filter=filter) as fake, configured(fake.config()) as extenders:
        cycle = cluster.cycle(incoming)
        cycle.extenders = extenders
        decided = attempt.run(cluster.profile, cycle)

    assert isinstance(decided, Decision)
    assert decided.node == "c"


class Preemption:
    """A pod that could take the place of others on two nodes, and extenders with a say in it."""

    def __init__(self) -> None:
        self.cluster = three()
        self.pods = {name: pod(f"low-{name}").on(name).build() for name in "ab"}
        for there in self.pods.values():
            self.cluster.add(there)
        self.found = {name: Victims((there,)) for name, there in self.pods.items()}

    def nominate(self, *given: Raw) -> Nominated | Rejection:
        with configured(*given) as extenders:
            cycle = self.cluster.cycle(pod("web").prioritised(100))
            cycle.extenders = extenders
            return nominate(cycle, self.found)


def meta(*uids: str) -> Raw:
    return {"Pods": [{"UID": uid} for uid in uids], "NumPDBViolations": 0}


def test_an_extender_may_drop_candidates_for_preemption() -> None:
    room = Preemption()
    left = {"NodeNameToMetaVictims": {"b": meta(room.pods["b"].uid)}}
    with extender(preempt=lambda asked: left) as fake:
        answer = room.nominate(fake.config())

    assert isinstance(answer, Nominated)
    assert (answer.node, answer.victims) == ("b", (room.pods["b"],))
    (asked,) = fake.requests("preempt")
    assert asked["NodeNameToMetaVictims"]["a"] == meta(room.pods["a"].uid)
    assert asked["NodeNameToVictims"] is None


def test_an_extender_without_a_cache_is_sent_whole_victims() -> None:
    room = Preemption()
    with extender(preempt=lambda asked: {"NodeNameToMetaVictims": {}}) as fake:
        answer = room.nominate(fake.config(nodeCacheCapable=False))

    assert answer == Rejection(
        Code.UNSCHEDULABLE, ("preemption: no candidate node for preemption",)
    )
    (asked,) = fake.requests("preempt")
    assert asked["NodeNameToVictims"]["a"]["Pods"][0]["metadata"]["name"] == "low-a"
    assert asked["NodeNameToMetaVictims"] is None


WRONG = {
    "a victim that is not there": (
        {"a": meta("nobody")},
        "claims to preempt pod (UID: nobody) on node: a, but the pod is not found on that node",
    ),
    "a node without victims": ({"a": meta()}, 'expected at least one victim pod on node "a"'),
    "a node nobody knows": ({"z": meta("x")}, 'nodeinfo not found for node name "z"'),
}


@pytest.mark.parametrize("what", WRONG)
@pytest.mark.parametrize("ignorable", [True, False])
def test_what_makes_no_sense_ends_preemption_unless_it_may_be_ignored(
    what: str, ignorable: bool
) -> None:
    answer, said = WRONG[what]
    with extender(preempt=lambda asked: {"NodeNameToMetaVictims": answer}) as fake:
        outcome = Preemption().nominate(fake.config(ignorable=ignorable))

    if not ignorable:
        assert isinstance(outcome, Rejection)
        assert said in outcome.message
    elif what == "a node without victims":
        assert isinstance(outcome, Rejection)
        assert outcome.message == "preemption: no candidate node for preemption"
    else:
        assert isinstance(outcome, Nominated)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    cert, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt"]
    command += ["ec_paramgen_curve:P-256", "-days", "1", "-subj", "/CN=extender"]
    command += ["-addext", "subjectAltName=DNS:extender.test", "-keyout", str(key)]
    subprocess.run([*command, "-out", str(cert)], check=True, capture_output=True)
    return cert, key


@pytest.mark.parametrize(
    ("tls", "works"),
    [
        pytest.param({}, False, id="nobody trusts a certificate signed by itself"),
        pytest.param({"enableHTTPS": True}, True, id="enableHTTPS without a CA trusts anyone"),
        pytest.param({"tlsConfig": {"insecure": True}}, True, id="insecure trusts anyone"),
        pytest.param({"tlsConfig": {"caFile": "CERT"}}, False, id="a CA, but another name"),
        pytest.param(
            {"tlsConfig": {"caFile": "CERT", "serverName": "extender.test"}},
            True,
            id="a CA, and the name that is in the certificate",
        ),
    ],
)
def test_who_is_trusted(certificate: tuple[Path, Path], tls: Raw, works: bool) -> None:
    context = SSLContext(PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    if tls.get("tlsConfig", {}).get("caFile"):
        tls = {"tlsConfig": {**tls["tlsConfig"], "caFile": str(certificate[0])}}

    with extender(context, filter=only("b")) as fake:
        if works:
            decided = decide(three(), pod("web"), fake.config(**tls))
            assert isinstance(decided, Decision)
            assert decided.node == "b"
        else:
            with pytest.raises(ExtenderError, match="certificate"):
                decide(three(), pod("web"), fake.config(**tls))


def test_a_client_certificate_is_shown_to_an_extender_that_asks(
    certificate: tuple[Path, Path],
) -> None:
    cert, key = certificate
    context = SSLContext(PROTOCOL_TLS_SERVER)
    context.load_cert_chain(cert, key)
    context.load_verify_locations(cert)
    context.verify_mode = CERT_REQUIRED
    tls = {"insecure": True, "certFile": str(cert), "keyFile": str(key)}

    with extender(context, filter=only("b")) as fake:
        decided = decide(three(), pod("web"), fake.config(tlsConfig=tls))

    assert isinstance(decided, Decision)
    assert decided.node == "b"
