"""What an anonymous copy keeps is said by the field, never by the look of a value."""

import datetime
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import inspect

from moorage.api.kinds import KINDS
from moorage.recording import anonymous_objects
from moorage.recording.anonymous import anonymous_entries
from moorage.recording.anonymous_objects import CONSTANTS, KEPT_EVERYWHERE, WHOLE, anonymous
from moorage.recording.entries import Configured
from moorage.recording.journal import write_recording
from moorage.recording.play import Player
from moorage.recording.pseudonyms import Pseudonyms
from moorage.recording.segments import Recording
from tests.unit.recording.mixed_cluster import record

Raw = dict[str, Any]
SECRETS = ("AcmeCorp", "10.1.2.3", "4711", "kube-acme", "system-acme")
"""A word, an address, a number and names that look like Kubernetes' own."""


def filled(kind: Any, secret: str) -> Any:
    """A value of a type, in which every text is the secret, and every key has it in its domain."""
    match kind:
        case inspect.StructType():
            return {
                each.encode_name: filled(
                    each.type, "a-driver" if each.encode_name in KEPT_EVERYWHERE else secret
                )
                for each in kind.fields
            }
        case inspect.UnionType():
            some = [each for each in kind.types if not isinstance(each, inspect.NoneType)]
            return filled(some[0], secret)
        case inspect.VarTupleType() | inspect.ListType():
            return [filled(kind.item_type, secret)]
        case inspect.DictType():
            return {f"{secret}.example/key": filled(kind.value_type, secret)}
        case inspect.Metadata():
            return "4" if (kind.extra or {}).get("quantity") else filled(kind.type, secret)
        case inspect.StrType():
            return secret
        case inspect.BoolType():
            return True
        case inspect.IntType() | inspect.FloatType():
            return 1
        case inspect.DateTimeType():
            return datetime.datetime(2026, 3, 1, tzinfo=datetime.UTC)
        case inspect.LiteralType():
            return kind.values[0]
        case _:
            return None


def texts(value: Any, field: str = "") -> Iterator[tuple[str, str]]:
    """Every text of plain data, keys as well, with the field that holds it."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (field if field in WHOLE else f"a key of {field}"), key
            yield from texts(inner, field if field in (*WHOLE, "disruptedPods") else key)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from texts(each, field)
    elif isinstance(value, str):
        yield field, value


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize("kind", [name for name in KINDS if name != "ConfigMap"])
def test_a_secret_stays_in_no_field_but_those_of_the_table(kind: str, secret: str) -> None:
    """Built from the structs: a field that is new is tried as soon as it is there."""
    struct = KINDS[kind].struct
    obj: Any = msgspec.convert(filled(inspect.type_info(struct), secret), struct)
    names = Pseudonyms()
    anonymous(obj, names)
    names.settle()
    plain = msgspec.to_builtins(anonymous(obj, names))

    before = {field for field, text in texts(msgspec.to_builtins(obj)) if secret in text}
    after = {field for field, text in texts(plain) if secret in text}
    assert {"name", "a key of labels"} <= before
    assert after - CONSTANTS - WHOLE - {"disruptedPods"} == set()


def test_the_table_names_fields_that_there_are() -> None:
    every = [filled(inspect.type_info(each.struct), "x") for each in KINDS.values()]
    written = json.dumps(every, default=str)

    for table in ("CONSTANTS", "WHOLE", "KEYS", "KEPT_EVERYWHERE", "IMAGES"):
        gone = [each for each in getattr(anonymous_objects, table) if f'"{each}"' not in written]
        assert gone == [], table


def node(name: str) -> Raw:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {"kubernetes.io/hostname": name, "team": "AcmeCorp", "rank": "7"},
        },
        "spec": {"taints": [{"key": "tenant", "value": "AcmeCorp", "effect": "NoSchedule"}]},
        "status": {"allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}},
    }


def pod(name: str, *expressions: Raw) -> Raw:
    terms = {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    container = {"name": "main", "image": "app:1", "resources": {"requests": {"cpu": "1"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "tolerations": [{"key": "tenant", "operator": "Equal", "value": "AcmeCorp"}],
            "affinity": affinity if expressions else {},
            "containers": [container],
        },
    }


IN = {"key": "team", "operator": "In", "values": ["AcmeCorp"]}
ABOVE = {"key": "rank", "operator": "Gt", "values": ["5"]}


@pytest.mark.parametrize(
    "pods",
    [
        pytest.param([pod("a")], id="a toleration"),
        pytest.param([pod("a", IN)], id="a selector"),
        pytest.param([pod("a", ABOVE)], id="a label that is compared as a number"),
    ],
)
def test_a_cluster_of_addresses_and_words_is_copied_without_them(
    tmp_path: Path, pods: list[Raw]
) -> None:
    record(tmp_path / "made", [node("10.1.2.3"), node("10.1.2.4"), *pods])
    whole = b"".join(Recording(tmp_path / "made").frames())

    write_recording(tmp_path / "copy", anonymous_entries(tmp_path / "made"))

    copied = b"".join(Recording(tmp_path / "copy").frames())
    for name in (b"AcmeCorp", b"10.1.2.3", b"tenant"):
        assert name in whole, name
        assert name not in copied, name
    played = Player(tmp_path / "copy").play()
    assert (played.attempts, played.divergence) == (1, None)


def test_the_copy_names_no_folder_of_plugins(tmp_path: Path) -> None:
    file = tmp_path / "rules.py"
    file.write_text(
        "from moorage import Filter\nclass Mine(Filter, frozen=True):\n"
        "    def filter(self, cycle, pod, node):\n        return None\n"
    )
    record(tmp_path / "made", [node("n1"), pod("a")], plugins=(str(file),))

    write_recording(tmp_path / "copy", anonymous_entries(tmp_path / "made"))

    entries = list(Recording(tmp_path / "copy").entries())
    (configured,) = (each for each in entries if isinstance(each, Configured))
    assert configured.plugins == ("rules.py",)
