"""JSON of any depth is read: what is too deep is null, and the rest is as it was."""

import msgspec
import pytest

from moorage.api.lenient_json import MOST_DEPTH, cut_depths, decode_any_depth
from moorage.kube.response_decoder import decode_page, decode_watch_event, decoder_for
from moorage.watch.api_resources import RESOURCES

CLAIMS = RESOURCES["resourceclaims"]
GOOD = b'{"metadata":{"name":"good","namespace":"team"}}'


def claim(depth: int) -> bytes:
    """A claim whose parameters are nested so deeply; an API server takes 10 KiB of them."""
    nested = b"[" * depth + b"]" * depth
    parameters = b'{"opaque":{"driver":"d","parameters":{"a":' + nested + b"}}}"
    metadata = b'{"metadata":{"name":"evil","namespace":"evil"},"spec":{"devices":{"config":['
    return metadata + parameters + b"]}}}"


@pytest.mark.parametrize("depth", [10, 900, 1_100, 4_900])
def test_a_claim_that_is_nested_deeply_hides_no_other(depth: int) -> None:
    page = decode_page(CLAIMS, b'{"items":[' + claim(depth) + b"," + GOOD + b"]}")
    line = b'{"type":"ADDED","object":' + claim(depth) + b"}"
    event = decode_watch_event(CLAIMS, decoder_for(CLAIMS), line)

    assert [each.key for each in page.items] == ["evil/evil", "team/good"]
    assert event is not None
    assert event.object is not None
    assert event.object.key == "evil/evil"


def test_what_is_too_deep_is_null_and_the_rest_as_it_was() -> None:
    deep = '{"a":' * 200 + "1" + "}" * 200
    text = ('{"text":"[[[\\"[","deep":' + deep + ',"after":[1,{"b":"}"}]}').encode()
    found = msgspec.json.decode(cut_depths(text))
    levels = 0
    inner = found["deep"]
    while inner is not None:
        levels, inner = levels + 1, inner["a"]

    assert (found["text"], found["after"]) == ('[[["[', [1, {"b": "}"}])
    assert levels == MOST_DEPTH - 1


def test_what_is_not_deep_stays_as_it_is() -> None:
    text = msgspec.json.encode({"a": [{"b": '"\\[{'}, "]", ["}", {}]]})

    assert cut_depths(text) == text
    assert decode_any_depth(msgspec.json.decode, text) == msgspec.json.decode(text)
