"""The page on reloading says what is."""

import re
from pathlib import Path

import msgspec

from moorage.app import built_in_plugins, reloader
from moorage.config import profile_canary
from moorage.config.canary_limits import Rollback
from moorage.config.loader import load
from moorage.config.profile_canary import CanarySpec

PAGE = (Path(__file__).parents[3] / "docs" / "reloading.md").read_text()
KNOWN = built_in_plugins.describe_plugins(built_in_plugins.built_in())


def test_the_canary_of_the_page_is_one() -> None:
    found = re.search(r"<!-- canary example -->\n```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    profiles = [{"schedulerName": "moorage"}]
    kind = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}
    configuration = load({**kind, "profiles": profiles}, known=KNOWN).configuration
    loaded = profile_canary.load_canaries(found.group(1), configuration, known=KNOWN)

    assert [each.name for each in loaded.found] == ["binpack-2"]
    assert loaded.warnings == ()


def test_every_setting_of_a_canary_is_explained() -> None:
    named = {field.encode_name for field in msgspec.structs.fields(CanarySpec)} - {"rollback"}
    limits = {f"rollback.{field.encode_name}" for field in msgspec.structs.fields(Rollback)}

    assert {name for name in named | limits if f"| `{name}` |" not in PAGE} == set()


def test_what_needs_a_restart_is_named() -> None:
    assert {name for name in reloader.RESTART_ONLY if f"`{name}`" not in PAGE} == set()
