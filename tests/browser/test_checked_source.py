"""The page's source is checked where there is node; elsewhere one line says that it is not."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tools" / "check-page.sh"
LOCK = json.loads((ROOT / "tools" / "page" / "package-lock.json").read_text())


def test_without_node_one_line_says_so_and_nothing_fails(tmp_path: Path) -> None:
    for name in ("bash", "dirname"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    done = subprocess.run(
        [SCRIPT], env={"PATH": str(tmp_path)}, capture_output=True, text=True, timeout=30
    )

    assert done.returncode == 0
    [line] = done.stderr.splitlines()
    assert line.startswith("NOT CHECKED: ")


def test_what_is_installed_is_pinned_and_names_no_host() -> None:
    packages = {name: each for name, each in LOCK["packages"].items() if name}
    wanted = json.loads((ROOT / "tools" / "page" / "package.json").read_text())["devDependencies"]

    assert {"typescript", "@biomejs/biome"} == wanted.keys()
    assert LOCK["packages"][""]["devDependencies"] == wanted
    assert len(packages) > 10
    assert all(each["integrity"].startswith("sha512-") for each in packages.values())
    assert "://" not in json.dumps(LOCK)


@pytest.mark.browser
@pytest.mark.skipif(shutil.which("npm") is None, reason="no npm on the PATH")
def test_a_type_error_and_an_unused_import_are_found(tmp_path: Path) -> None:
    """On a copy of the page, with what the script has installed."""
    subprocess.run([SCRIPT], check=True, timeout=100)
    installed = ROOT / "tools" / "page" / "node_modules"
    if not installed.is_dir():
        pytest.skip("npm could not install tools/page/package.json")
    page, tools = tmp_path / "src/moorage/dashboard/page", tmp_path / "tools"
    shutil.copytree(ROOT / "src/moorage/dashboard/page", page)
    shutil.copytree(ROOT / "tools", tools, ignore=shutil.ignore_patterns("node_modules"))
    (tools / "page" / "node_modules").symlink_to(installed)

    def check() -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [tools / "check-page.sh"], capture_output=True, text=True, timeout=100
        )

    sound = check()
    assert sound.returncode == 0, sound.stdout + sound.stderr
    words = page / "words.js"
    words.write_text(words.read_text() + "\nexport const wrong = document.body.nothing;\n")
    assert "Property 'nothing' does not exist" in check().stdout
    words.write_text(words.read_text().replace("document.body.nothing", "1"))
    words.write_text('import { h } from "./dom.js";\n' + words.read_text())
    assert "noUnusedImports" in check().stderr
