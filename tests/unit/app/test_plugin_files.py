"""Plugin files: which are loaded, and what is said of them."""

import hashlib
import logging
from pathlib import Path

import pytest

from moorage.app import plugin_files
from moorage.app.plugin_files import PluginSet
from moorage.config.field_errors import InputError

PLUGIN = """
from moorage import Filter

class Mine(Filter, frozen=True):
    def filter(self, cycle, pod, node):
        return None
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "rules.py"
    made.write_text(PLUGIN)
    made.chmod(0o644)
    return made


def test_a_file_of_our_own_is_loaded(file: Path) -> None:
    assert "Mine" in PluginSet([str(file)]).load()


@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_file_that_every_user_may_write_is_refused(file: Path, what: str) -> None:
    place = file if what == "file" else file.parent
    place.chmod(0o666 if what == "file" else 0o777)

    with pytest.raises(InputError, match=f"{place} may be written by every user.*: chmod o-w it$"):
        PluginSet([str(file)]).load()
    with pytest.raises(InputError, match="may be written"):
        plugin_files.load_plugins([str(file)])


def test_a_link_is_as_safe_as_what_it_leads_to(file: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "links"
    elsewhere.mkdir()
    link = elsewhere / "link.py"
    link.symlink_to(file)
    file.chmod(0o666)

    with pytest.raises(InputError, match="may be written"):
        PluginSet([str(link)]).load()


def test_a_sticky_folder_protects_its_files(file: Path) -> None:
    file.parent.chmod(0o1777)

    assert "Mine" in PluginSet([str(file)]).load()


def test_a_file_that_becomes_writable_is_not_loaded_again(file: Path) -> None:
    plugins = PluginSet([str(file)])
    plugins.load()
    file.write_text(PLUGIN + "\nclass Planted(Mine, frozen=True):\n    pass\n")
    file.chmod(0o666)

    with pytest.raises(InputError, match="may be written"):
        plugins.load()


def test_nothing_of_a_read_only_mount_can_be_written(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ConfigMaps are mounted so, in folders that look writable."""
    file.parent.chmod(0o777)
    monkeypatch.setattr(plugin_files, "_read_only", lambda place: True)

    assert "Mine" in PluginSet([str(file)]).load()


def test_file_and_hash_are_said_on_every_load_of_another_content(
    file: Path, caplog: pytest.LogCaptureFixture
) -> None:
    plugins = PluginSet([str(file)])
    with caplog.at_level(logging.INFO, "moorage"):
        plugins.load()
        plugins.load()
        file.write_text(PLUGIN + "\n")
        plugins.load()
    said = [getattr(record, "fields", {}) for record in caplog.records]

    want = [hashlib.sha256(text.encode()).hexdigest() for text in (PLUGIN, PLUGIN + "\n")]
    assert [each["sha256"] for each in said] == want
    assert {(each["file"], each["plugins"]) for each in said} == {(str(file), "Mine")}


def test_a_module_that_is_nowhere_is_told_with_what_to_do() -> None:
    with pytest.raises(InputError) as raised:
        PluginSet(["nowhere_at_all.rules:Mine"]).load()

    (problem,) = raised.value.problems
    assert problem == (
        "--plugin nowhere_at_all.rules:Mine: cannot import nowhere_at_all.rules: "
        "ModuleNotFoundError: No module named 'nowhere_at_all'; install it, set PYTHONPATH, or "
        "give a file: nowhere_at_all/rules.py"
    )


def test_what_a_module_fails_to_import_is_told_with_its_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "acme_rules.py").write_text("import os\nimport nowhere_at_all\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    with pytest.raises(InputError, match=r"\(in <module>, line 2 of acme_rules\.py\)$"):
        PluginSet(["acme_rules:Mine"]).load()


def test_a_name_that_is_taken_is_told_with_who_has_it(file: Path) -> None:
    taken = "from moorage import Filter\nclass NodeName(Filter, frozen=True):\n    pass\n"
    file.write_text(taken)

    with pytest.raises(InputError, match=r"named NodeName \(moorage\.plugins\.node_name\): give"):
        PluginSet([str(file)]).load()
