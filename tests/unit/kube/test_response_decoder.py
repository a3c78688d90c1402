import logging
from typing import Any

import msgspec
import pytest

from moorage.api.pod import Pod
from moorage.kube import response_decoder
from moorage.watch.api_errors import Gone, ServerError
from moorage.watch.api_resources import LEASES, PODS
from moorage.watch.api_server import WatchEvent

POD = {
    "metadata": {"name": "web", "namespace": "d", "uid": "u", "resourceVersion": "7"},
    "spec": {"nodeName": "n1", "somethingNew": [1, 2]},
}
BROKEN = {"metadata": {"name": "odd", "namespace": "d"}, "spec": {"containers": 7}}


def event(kind: str, obj: object) -> WatchEvent | None:
    line = msgspec.json.encode({"type": kind, "object": obj})
    return response_decoder.decode_watch_event(PODS, response_decoder.decoder_for(PODS), line)


def test_a_page_holds_structs_and_where_to_go_on() -> None:
    body = {"metadata": {"resourceVersion": "9", "continue": "more"}, "items": [POD]}
    page = response_decoder.decode_page(PODS, msgspec.json.encode(body))

    assert (page.resource_version, page.continue_token) == ("9", "more")
    assert isinstance(page.items[0], Pod)
    assert page.items[0].spec.node_name == "n1"


def test_an_empty_list_may_be_null() -> None:
    assert (
        response_decoder.decode_page(
            PODS, b'{"metadata":{"resourceVersion":"9"},"items":null}'
        ).items
        == ()
    )


def test_an_answer_without_items_is_no_empty_list() -> None:
    """Else whatever a proxy says would mean that every object was deleted."""
    with pytest.raises(ServerError, match="a list of pods cannot be read: it has no items"):
        response_decoder.decode_page(PODS, b"{}")


def test_of_kinds_nobody_reads_the_metadata_is_kept() -> None:
    body = {"items": [{"metadata": {"name": "l"}, "spec": {"holderIdentity": "x"}}]}

    assert response_decoder.decode_page(LEASES, msgspec.json.encode(body)).items[0].name == "l"


def test_an_event_carries_the_object_and_its_version() -> None:
    found = event("MODIFIED", POD)

    assert found is not None
    assert isinstance(found.object, Pod)
    assert (found.type, found.resource_version) == ("MODIFIED", "7")


def test_a_bookmark_carries_a_version_only() -> None:
    bookmark = {"kind": "Pod", "metadata": {"resourceVersion": "12"}, "spec": {"containers": None}}

    assert event("BOOKMARK", bookmark) == WatchEvent("BOOKMARK", None, "12")


def test_an_error_event_is_raised() -> None:
    with pytest.raises(Gone):
        event("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "old"})


def test_null_where_kubernetes_writes_nothing_is_nothing() -> None:
    found = event("ADDED", {**POD, "spec": {"nodeName": "n1", "tolerations": None}})

    assert found is not None
    assert isinstance(found.object, Pod)
    assert found.object.spec.tolerations == ()


def test_an_object_that_cannot_be_read_hides_no_other(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        page = response_decoder.decode_page(PODS, msgspec.json.encode({"items": [BROKEN, POD]}))

    assert [item.name for item in page.items] == ["web"]
    assert event("ADDED", BROKEN) is None
    assert "Pod d/odd" in caplog.text


LONG: dict[str, Any] = {
    "metadata": {"name": "long", "namespace": "evil", "resourceVersion": "5"},
    "spec": {
        "nodeName": "n1",
        "containers": [{"name": "c", "resources": {"requests": {"memory": "9" * 4_400}}}],
    },
}


def test_an_amount_that_python_cannot_read_hides_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    page = response_decoder.decode_page(PODS, msgspec.json.encode({"items": [LONG, POD]}))

    assert [item.name for item in page.items] == ["web"]
    assert "Pod evil/long: spec.containers[0].resources.requests.memory: '9999" in caplog.text
    assert len(caplog.text) < 500


@pytest.mark.parametrize("error", [ValueError("odd"), OverflowError("odd"), RecursionError("odd")])
def test_whatever_decoding_an_object_raises_hides_no_other(
    error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def check(pod: Pod) -> None:
        if pod.name == "long":
            raise error

    monkeypatch.setattr(response_decoder, "refuse_bad_quantities", check)
    page = response_decoder.decode_page(PODS, msgspec.json.encode({"items": [LONG, POD]}))

    assert [item.name for item in page.items] == ["web"]
    assert event("ADDED", LONG) is None
    assert "an object of pods is left out: evil/long: odd" in caplog.text


def test_a_version_of_an_object_that_cannot_be_read_is_reported_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    counted: list[str] = []
    unreadable = response_decoder.UnreadableObjects(counted.append)

    def listed(*objects: object) -> None:
        body = msgspec.json.encode({"items": objects})
        response_decoder.decode_page(PODS, body, unreadable)

    listed(LONG, BROKEN, POD)
    listed(LONG, BROKEN, POD)
    assert (counted, caplog.text.count("is left out")) == (["pods", "pods"], 2)

    listed({**LONG, "metadata": {**LONG["metadata"], "resourceVersion": "6"}})
    assert (counted, caplog.text.count("is left out")) == (["pods"] * 3, 3)


def test_an_object_is_deleted_though_it_cannot_be_read() -> None:
    """It may have been known before a resize made it unreadable."""
    found = event("DELETED", LONG)

    assert found is not None
    assert found.object is not None
    assert (found.type, found.object.key, found.resource_version) == ("DELETED", "evil/long", "5")


def test_an_object_without_a_name_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        found = event("ADDED", {"metadata": {"namespace": "d", "uid": "1"}})

    assert found is None
    assert "an object of pods is left out: Pod: metadata.name: there is none" in caplog.text


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b'{"type":"ADDED"', id="a line cut short"),
        pytest.param(b'{"type":"SURPRISE","object":{}}', id="an event of no known type"),
        pytest.param(b'{"type":"ADD\xff"}', id="bytes that are no text"),
        pytest.param(b'{"type":' + b"[" * 100_000, id="lists in lists without end"),
    ],
)
def test_nonsense_is_the_servers_fault(line: bytes) -> None:
    with pytest.raises(ServerError, match="a watch of pods cannot be read"):
        response_decoder.decode_watch_event(PODS, response_decoder.decoder_for(PODS), line)


@pytest.mark.parametrize(
    "status",
    [
        pytest.param(b'"x"', id="a text"),
        pytest.param(b'{"kind":"Status","code":"x"}', id="a status whose code is no number"),
        pytest.param(b'{"kind":"Status","message":"\xff"}', id="bytes that are no text"),
        pytest.param(b"{}", id="nothing"),
    ],
)
def test_a_watch_that_ends_with_nonsense_is_the_servers_fault(status: bytes) -> None:
    line = b'{"type":"ERROR","object":' + status + b"}"

    with pytest.raises(ServerError, match=r"watch .*(no Status|cannot be read)"):
        response_decoder.decode_watch_event(PODS, response_decoder.decoder_for(PODS), line)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        pytest.param(b'{"nodeName":"\xff"}', "utf-8", id="a name that is no text"),
        pytest.param(
            b'{"overhead":{"cpu":"much"}}',
            "Pod d/web: spec.overhead.cpu: 'much' is not a quantity",
            id="an amount that is none",
        ),
    ],
)
def test_what_cannot_be_read_in_an_object_is_told(
    spec: bytes, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    name = b'{"metadata":{"name":"web","namespace":"d"},"spec":'
    line = b'{"type":"ADDED","object":' + name + spec + b"}}"

    with caplog.at_level(logging.ERROR):
        decode = response_decoder.decoder_for(PODS)
        found = response_decoder.decode_watch_event(PODS, decode, line)

    assert found is None
    assert said in caplog.text
