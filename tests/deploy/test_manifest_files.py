"""Each file of the manifests is well-formed, before kustomize puts them together."""

import ast
from pathlib import Path

import pytest
import yaml

from moorage.app.built_in_plugins import describe_installed
from moorage.config.loader import load
from tests.deploy.tools import DEPLOY, ROOT

FILES = sorted(path.relative_to(DEPLOY) for path in DEPLOY.rglob("*.yaml"))


def is_of_objects(text: str) -> bool:
    try:
        return all(isinstance(doc, dict) for doc in yaml.load_all(text, yaml.CSafeLoader))
    except yaml.YAMLError:
        return False


def test_every_file_is_yaml_of_objects() -> None:
    assert len(FILES) > 40
    assert [str(file) for file in FILES if not is_of_objects((DEPLOY / file).read_text())] == []


def test_a_file_that_is_not_is_noticed() -> None:
    assert is_of_objects("a: 1\n---\nb: 2\n")
    assert not is_of_objects("a: 1\n---\n- b\n")
    assert not is_of_objects("a: [1\n")


@pytest.mark.parametrize("file", [f for f in FILES if f.name == "scheduler.yaml"], ids=str)
def test_every_configuration_is_valid_and_says_nothing_doubtful(file: Path) -> None:
    assert (
        load((DEPLOY / file).read_bytes(), known=describe_installed(), source=str(file)).warnings
        == ()
    )


def test_nothing_else_is_written_to_the_api_server() -> None:
    """A plugin that patches another resource needs a line in the ClusterRole, and one here."""
    found = set()
    for file in (ROOT / "src" / "moorage" / "plugins").rglob("*.py"):
        for call in ast.walk(ast.parse(file.read_text())):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute):
                owner = ast.unparse(call.func.value)
                if owner.endswith("client") and call.func.attr in {"patch", "update", "bind"}:
                    found.add((call.func.attr, ast.unparse(call.args[0])))

    assert found == {
        ("patch", "PV_RESOURCE"),
        ("patch", "PVC_RESOURCE"),
        ("patch", "CLAIMS"),
        ("patch", "'pods'"),
        ("bind", "pod.namespace"),
    }
