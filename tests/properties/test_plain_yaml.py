"""What the fast reader of plain manifests reads is what libyaml reads."""

import math
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from moorage.config import yaml_documents
from moorage.config.field_errors import ConfigError
from moorage.config.plain_yaml import NOT_PLAIN, PlainReader

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


@settings(max_examples=600)
@given(TEXTS)
@example("a:\n- b\n- c: 1\n  d:\n  - e\nf: {}")
@example("a: b\n  c: d")
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
