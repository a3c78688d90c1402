"""What the fast reader of plain manifests reads is what libyaml reads."""

import math
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from moorage.config import yaml_documents
from moorage.config.field_errors import ConfigError
from moorage.config.plain_blocks import BlockReader
from moorage.config.plain_yaml import NOT_PLAIN, PlainReader
from tests.support.profiles import at_least

SAMPLES = r"""
a b yes No ON off y n null ~ true False 0 1 -1 +1 007 0x1F 0b1 0o7 1_000 1e3 1.5 .5 -.5 .inf .nan
12:30 2020-01-01 500m 1Gi 1e3m 99999999999999999999 a:b a=b http://x/y:1 a,b *a &a !x {} [] {a [b
'q' "q" 'it''s' "a\tb" 'a b' | > |- a\b # a#b @a %a ? - -- --- ... -a <<
"""
WORDS = st.sampled_from(SAMPLES.split())
VALUES = st.lists(WORDS, max_size=3).map(" ".join)
KEYS = st.sampled_from(["", "a:", "b:", "a.b/c:", "<<:", "'a':", '"a":', "a :", "a:b:", "1:", "?"])
LINES = st.builds(
    lambda indent, dashes, key, value, end: f"{' ' * indent}{dashes}{key} {value}{end}",
    st.integers(0, 4),
    st.sampled_from(["", "", "", "- ", "- - ", "-  ", "-"]),
    KEYS,
    VALUES,
    st.sampled_from(["", "", "", " ", " # c", "\t"]),
)
TEXTS = st.lists(LINES | st.sampled_from(["---", "", "# c", "...", "a:", "- a", "  b: c"])).map(
    "\n".join
)


def slow(text: str) -> list[Any] | None:
    try:
        return [each.value for each in yaml_documents.read_yaml(text)]
    except ConfigError:
        return None


def same(one: Any, other: Any) -> bool:
    """Equal, and of the same types; NaN is NaN."""
    if isinstance(one, float) and isinstance(other, float) and math.isnan(one):
        return math.isnan(other)
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


@at_least(100)  # a line is of ninety words, with fewer texts most of them are never seen
@given(TEXTS)
@example("a:\n- b\n- c: 1\n  d:\n  - e\nf: {}")
@example("a: b\n  c: d")
@example("a: |\n  b")
@example("a: 1\n---\nb: |\n  c")
@example("- a\n  b: c")
@example("- - a\n  - b\n- c")
@example("a:\n\n# x\n  b: 1")
@example("---\n---\na: 1\n---\n# only a comment")
def test_fast_and_slow_are_one(text: str) -> None:
    want = slow(text)
    try:
        found = yaml_documents.read_values(text.encode())
    except ConfigError:
        found = None

    assert same(found, want), text


NESTED = st.recursive(
    WORDS.map(lambda word: [word]) | st.just([""]),
    lambda inner: st.lists(
        st.tuples(st.sampled_from(["a:", "b:", "c.d:", "- a:", "- b:", "- ", "a: "]), inner)
    ).map(
        lambda pairs: (
            [""]
            + [
                f"  {head}{line}" if i == 0 else f"    {line}"
                for head, lines in pairs
                for i, line in enumerate(lines)
            ]
        )
    ),
    max_leaves=12,
)


@at_least(100)  # as above
@given(
    st.lists(TEXTS | NESTED.map(lambda lines: "\n".join(line[2:] for line in lines)), max_size=4)
)
@example(["a:\n- b: 1\n  c:\n  - d: 2\n- b: 1\n  c:\n  - d: 2\ne:\n  f: 1\n  g:\n    h: 1"])
@example(["a:\n  b: 1\na:\n  b: 1"])
@example(["a:\n  b: 1\n c: 2"])
@example(["a b:\n  c: 1"])
@example(["a:\n  - b: 1\n  c: 2"])
@example(["a:\n- b: 1\n- - c: 2\n- d"])
@example(["a:\nb:\n- c: 1\n-  d: 2"])
def test_blocks_and_lines_are_one(texts: list[str]) -> None:
    """However finely a document is divided; and what was read before does not matter."""
    blocks, lines = (
        BlockReader(yaml_documents._resolve, large=0),
        PlainReader(yaml_documents._resolve),
    )
    for text in (*texts, "\n".join(texts), *texts):
        found, want = blocks.read(text), lines.read(text)

        assert found is NOT_PLAIN or same(found, want), text


def test_equal_blocks_are_read_once() -> None:
    pod = "- spec:\n    containers:\n    - name: c\n      image: x\n  metadata:\n    name: p{}\n"
    text = "items:\n" + "".join(pod.format(i) for i in range(3)) + "kind: List"
    found = BlockReader(str, large=0).read(text)["items"]

    assert [each["metadata"]["name"] for each in found] == ["p0", "p1", "p2"]
    assert found[0]["spec"] is found[2]["spec"]


def test_what_kubectl_writes_is_plain() -> None:
    """The fast way is taken, or nothing would be gained."""
    text = """metadata:
  name: web-1
  labels:
    app: web
spec:
  containers:
  - name: c
    image: "x:1"
    resources:
      requests:
        cpu: 500m"""

    assert PlainReader(str).read(text) is not NOT_PLAIN
