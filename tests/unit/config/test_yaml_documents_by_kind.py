"""Documents are found among others and inside ConfigMaps, and messages say where."""

import pytest

from moorage.config import yaml_documents
from moorage.config.field_errors import ConfigError, format_path

CONFIG_MAP = """\
apiVersion: v1
kind: Service
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: policies
data:
  other.conf: kind=Thing
  thing.yaml: |
    kind: Thing

    size:
      x: 1
"""


def test_a_document_is_found_by_its_kind() -> None:
    (found,) = yaml_documents.find_documents("kind: Other\n---\nkind: Thing\nsize: 1\n", "Thing")

    assert found.value == {"kind": "Thing", "size": 1}
    assert found.within == ""
    assert found.places.line(("size",)) == 4


def test_a_document_is_found_in_a_config_map_and_lines_are_those_of_the_file() -> None:
    (found,) = yaml_documents.find_documents(CONFIG_MAP, "Thing")

    assert found.value == {"kind": "Thing", "size": {"x": 1}}
    assert found.within == "ConfigMap policies data[thing.yaml]"
    assert found.places.line(("size", "x")) == 14


def test_lines_of_a_quoted_entry_are_unknown() -> None:
    (found,) = yaml_documents.find_documents(
        'kind: ConfigMap\ndata: {a: "kind: Thing\\nx: 1"}', "Thing"
    )

    assert found.value == {"kind": "Thing", "x": 1}
    assert found.places.line(("x",)) == 0


def test_a_config_map_may_be_given_as_a_value() -> None:
    found = yaml_documents.find_only_document(
        {"kind": "ConfigMap", "data": {"k": "kind: Thing\nx: 1"}}, "Thing"
    )

    assert found.value == {"kind": "Thing", "x": 1}
    assert found.within == "ConfigMap data[k]"


def test_yaml_errors_inside_a_config_map_name_the_entry_and_the_line() -> None:
    broken = CONFIG_MAP + "      x: 2\n"

    with pytest.raises(ConfigError) as error:
        yaml_documents.find_documents(broken, "Thing", "cm.yaml")

    assert str(error.value) == (
        'cm.yaml:15: ConfigMap policies data[thing.yaml]: key "x" is already set in line 14'
    )


@pytest.mark.parametrize(
    ("written", "message"),
    [
        pytest.param("", 'f: no document with "kind: Thing"', id="an empty file"),
        pytest.param(
            "kind: ConfigMap\nmetadata: m\ndata: [Thing]",
            'f: no document with "kind: Thing"; found kinds: ConfigMap',
            id="a ConfigMap that is none",
        ),
        pytest.param("- 1", 'f: no document with "kind: Thing"', id="a list"),
        pytest.param(
            "kind: Pod\n---\na: 1",
            'f: no document with "kind: Thing"; found kinds: Pod, none',
            id="other kinds",
        ),
        pytest.param(
            "kind: Thing\n---\nkind: Thing",
            "f: 2 documents of kind Thing where one is expected",
            id="two of them",
        ),
    ],
)
def test_exactly_one_document_is_expected(written: str, message: str) -> None:
    with pytest.raises(ConfigError) as error:
        yaml_documents.find_only_document(written, "Thing", "f")

    assert str(error.value) == message


def test_paths_are_written_as_kubernetes_writes_them() -> None:
    path = ("profiles", 0, "plugins", "score", "enabled", 1, "weight")

    assert format_path(path) == "profiles[0].plugins.score.enabled[1].weight"
    assert format_path(("costs", "nvidia.com/gpu")) == "costs[nvidia.com/gpu]"
