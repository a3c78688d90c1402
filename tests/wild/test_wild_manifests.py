"""Every wild manifest gives its pods, or one line that says why not."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from moorage.cli.main import main

WILD = Path(__file__).parent
DEEP = {
    "flow.yaml": "[" * 5000 + "]" * 5000,
    "open.json": '{"a":' * 100_000,
    "flow.json": '{"a":' * 5000 + "1" + "}" * 5000,
    "dashes.yaml": "- " * 50_000 + "x",
}


def simulate(*paths: Path, stdin: bytes | None = None) -> Result:
    arguments = ["simulate", *map(str, paths), "-o", "json"]
    return CliRunner().invoke(main, arguments, input=stdin)


@pytest.mark.parametrize(
    ("name", "pods"),
    [
        ("bom_crlf.yaml", ["web"]),
        ("lines.jsonl", ["one", "two"]),
        ("tabs_in_json.yaml", ["web"]),
        ("lists.yaml", ["web"]),
        ("anchors.yaml", ["web"]),
        ("custom_resource.yaml", ["web"]),
        ("trailing_end.yaml", ["web"]),
    ],
)
def test_what_is_right_is_read(name: str, pods: list[str]) -> None:
    named = simulate(WILD / name)
    piped = simulate(Path("-"), stdin=(WILD / name).read_bytes())

    for told in (named, piped):
        assert told.exit_code == 0, told.output
        assert [pod["name"] for pod in json.loads(told.stdout)["pods"]] == pods


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("tab_indent.yaml", "tab_indent.yaml:4: not YAML"),
        ("huge_int.yaml", "huge_int.yaml, document 1"),
        ("no_objects.yaml", "no_objects.yaml, document 1: kind: missing"),
        ("nowhere.yaml", "nowhere.yaml: no such file or folder"),
        ("chart/templates/pod.yaml", "helm template"),
    ],
)
def test_what_is_wrong_is_one_line(name: str, said: str) -> None:
    told = simulate(WILD / name)

    assert (told.exit_code, told.stdout) == (2, "")
    assert said in told.stderr
    assert all(line.startswith(("error: ", "warning: ")) for line in told.stderr.splitlines())


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("chart", "helm template"),
        ("overlay", "kustomization.yaml and 2 of its patches skipped: read what `kustomize build"),
        ("mixed", "no Kubernetes object in it, skipped"),
    ],
)
def test_what_else_lies_in_a_folder_is_named_with_what_reads_it(folder: str, said: str) -> None:
    told = simulate(WILD / folder)

    assert said in told.stderr
    assert told.exit_code == (2 if folder == "chart" else 0)


@pytest.mark.parametrize("name", DEEP)
def test_nesting_without_end_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text(DEEP[name])

    told = simulate(tmp_path / name)

    assert (told.exit_code, told.stderr.count("\n")) == (2, 1), told.stderr
    assert name in told.stderr


def test_utf_16_as_powershell_writes_it_is_read(tmp_path: Path) -> None:
    text = (WILD / "lists.yaml").read_text()
    (tmp_path / "all.yaml").write_bytes(b"\xff\xfe" + text.encode("utf-16-le"))

    assert simulate(tmp_path / "all.yaml").exit_code == 0
