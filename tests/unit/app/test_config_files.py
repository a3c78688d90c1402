"""Files as a configuration's source: a kubelet's links, editors, scripts that write in place."""

import os
from pathlib import Path

import pytest

from moorage.app.config_sources import ConfigFiles
from moorage.config.field_errors import InputError


def mounted(folder: Path, text: str, version: str) -> Path:
    """A ConfigMap as a kubelet mounts it, or mounts it again: links, swapped by a rename."""
    data = folder / f"..{version}"
    data.mkdir(parents=True)
    (data / "scheduler.yaml").write_text(text)
    (folder / "..data_tmp").symlink_to(data.name)
    os.rename(folder / "..data_tmp", folder / "..data")
    link = folder / "scheduler.yaml"
    if not link.is_symlink():
        link.symlink_to(Path("..data") / "scheduler.yaml")
    return link


def test_the_swap_of_a_mounted_config_map_is_seen_and_read(tmp_path: Path) -> None:
    file = mounted(tmp_path / "etc", "one", "v1")
    files = ConfigFiles({"--config": [str(file)]})
    before = files.signature()
    assert files.signature() == before
    mounted(tmp_path / "etc", "two", "v2")

    assert files.signature() != before
    assert [text.content for text in files.read()] == [b"two"]


def test_of_a_mounted_folder_only_its_links_are_read(tmp_path: Path) -> None:
    """Each text is in the folder twice: by its link, and where that leads to."""
    mounted(tmp_path / "etc", "one", "v1")
    files = ConfigFiles({"--policies": [str(tmp_path / "etc")]})

    assert [text.source for text in files.read()] == [str(tmp_path / "etc" / "scheduler.yaml")]


def test_a_file_that_comes_goes_or_changes_is_seen(tmp_path: Path) -> None:
    folder = tmp_path / "policies"
    folder.mkdir()
    files = ConfigFiles({"--policies": [str(folder)]})
    seen = [files.signature()]
    (folder / "a.yaml").write_text("a: 1")
    seen.append(files.signature())
    (folder / "a.yaml").write_text("a: 1234")
    seen.append(files.signature())
    (folder / "a.yaml").unlink()
    seen.append(files.signature())

    assert len(set(seen)) == 4


def test_a_plugin_file_is_watched_though_someone_else_reads_it(tmp_path: Path) -> None:
    plugin = tmp_path / "rules.py"
    plugin.write_text("x = 1")
    files = ConfigFiles({}, beside=[plugin])
    signature, contents = files.signature(), files.contents()
    plugin.write_text("x = 22")

    assert files.signature() != signature
    assert files.contents() != contents
    assert files.read() == []


def test_a_file_that_is_not_there_is_named_with_its_option(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        ConfigFiles({"--config": [str(tmp_path / "no.yaml")], "--policies": [str(tmp_path)]}).read()

    assert str(caught.value).splitlines() == [
        f"--config {tmp_path}/no.yaml: no such file",
        f"--policies {tmp_path}: no such file, or no manifests in it",
    ]
