"""Lines as klog and kube's JSON format have them."""

import re
import time
from typing import Any

import msgspec
import pytest

from moorage.observe.log_formats import KlogJson, KlogText

WHEN = 1_785_666_153.25


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param({"pod": "default/web"}, ' pod="default/web"', id="text is quoted"),
        pytest.param({"score": 412}, " score=412", id="a number is not"),
        pytest.param({"ms": 0.25}, " ms=0.25", id="nor is a fraction"),
        pytest.param({"tls": True}, " tls=true", id="truth is in Go's words"),
        pytest.param({"node": ""}, "", id="what is empty is left out"),
        pytest.param({"why": 'a "b"\nc'}, r' why="a \"b\"\nc"', id="a line stays one line"),
        pytest.param({"why": "\x9b31m\x7f"}, r' why="\u009b31m\u007f"', id="a terminal obeys none"),
        pytest.param({"names": ["a"]}, " names=\"['a']\"", id="anything else is put in words"),
    ],
)
def test_text(fields: dict[str, Any], want: str) -> None:
    line = KlogText(pid=7)("I", 2, WHEN, "decisions", "Scheduled", fields)

    stamp = time.strftime("%m%d %H:%M:%S", time.localtime(WHEN))
    assert line == f'I{stamp}.250000       7 decisions] "Scheduled"{want}\n'


def test_the_second_of_the_stamp_moves_on() -> None:
    text = KlogText(pid=7)

    stamps = [text("I", 0, WHEN + step, "x", "y", {})[6:21] for step in (0, 0, 1, 0)]

    assert stamps[0] == stamps[1] == stamps[3]
    assert stamps[0] != stamps[2]
    assert all(re.fullmatch(r"\d\d:\d\d:\d\d\.250000", stamp) for stamp in stamps)


def test_json() -> None:
    line = KlogJson()("I", 2, WHEN, "decisions", "Scheduled", {"pod": "default/web", "node": ""})

    assert line.endswith("}\n")
    assert msgspec.json.decode(line) == {
        "ts": 1_785_666_153_250.0,
        "v": 2,
        "logger": "decisions",
        "msg": "Scheduled",
        "pod": "default/web",
    }


def test_json_of_an_error_has_a_level_and_no_verbosity() -> None:
    entry = msgspec.json.decode(KlogJson()("E", 0, WHEN, "moorage", "Failed", {"err": "boom"}))

    assert (entry["level"], "v" in entry) == ("error", False)


def test_json_puts_into_words_what_it_cannot_encode() -> None:
    entry = msgspec.json.decode(KlogJson()("W", 0, WHEN, "x", "y", {"err": ValueError("boom")}))

    assert entry["err"] == "boom"
