"""`moorage plugin check` and `new`: no broken hook passes, and none keeps it waiting."""

from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner, Result

from moorage.cli.main import main
from moorage.config.durations import Duration
from moorage.config.moorage_configuration import DEFAULT_GUARD
from tests.unit.cli.bad_plugins import HOOKS, configuration, source
from tests.unit.cli.command import CLUSTER, ROOT, moorage, pytest_in

BODIES = {
    "sys.exit(0)": "SystemExit: 0",
    "raise KeyboardInterrupt": "KeyboardInterrupt",
    "raise ValueError('boom')": "ValueError: boom",
}


def check(tmp_path: Path, text: str, *more: str) -> Result:
    (tmp_path / "bad.py").write_text(text)
    return CliRunner().invoke(main, ["plugin", "check", str(tmp_path / "bad.py"), *more])


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize(("body", "said"), BODIES.items(), ids=list(BODIES))
def test_what_a_hook_raises_is_told(tmp_path: Path, hook: str, body: str, said: str) -> None:
    told = check(tmp_path, source(hook, body))

    assert told.exit_code == 2
    assert said in told.stderr
    assert f"running {HOOKS[hook][0]} plugin 'Bad'" in told.stderr


@pytest.mark.parametrize("hook", [hook for hook in HOOKS if hook != "queue_sort"])
def test_answers_that_make_no_sense_are_told(tmp_path: Path, hook: str) -> None:
    told = check(tmp_path, source(hook, "return 'nonsense'"))

    assert (told.exit_code, "nonsense" in told.stderr) == (2, True)


@pytest.mark.parametrize("hook", ["filter", "queue_sort", "reserve", "pre_bind"])
def test_an_endless_hook_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hook: str
) -> None:
    shorter = msgspec.structs.replace(DEFAULT_GUARD, deadline=Duration.parse("50ms"))
    monkeypatch.setattr("moorage.testing.plugin_check.DEFAULT_GUARD", shorter)

    told = check(tmp_path, source(hook, "\n        while True: pass"))

    assert told.exit_code == 2
    assert "took longer than its deadline of 50ms" in told.stderr


@pytest.mark.long
def test_a_hook_may_take_a_second(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text(source("filter", "\n        while True: pass"))

    told = moorage("plugin", "check", tmp_path / "bad.py")

    assert told.returncode == 2
    assert "took longer than its deadline of 1s" in told.stderr


@pytest.mark.parametrize("words", [("plugin", "check"), ("simulate", "ALL", "--plugin")])
def test_an_endless_import_is_interrupted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr("moorage.app.plugin_files.IMPORT_SECONDS", 0.2)
    (tmp_path / "all.yaml").write_text(CLUSTER)
    (tmp_path / "bad.py").write_text("import time\nwhile True: time.sleep(0.01)\n")
    given = [str(tmp_path / "all.yaml") if word == "ALL" else word for word in words]

    told = CliRunner().invoke(main, [*given, str(tmp_path / "bad.py")])

    assert told.exit_code == 2
    assert "does not import: took longer than 0.2s (in <module>, line 2 of bad.py)" in told.stderr


CONSTRUCTED = """
import sys
from moorage import Filter

class Bad(Filter, frozen=True):
    def __post_init__(self):
        {}

    def filter(self, cycle, pod, node):
        return None
"""


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("while True: pass", "took longer than 0.2s"),
        ("raise KeyError('x')", "KeyError: 'x'"),
        ("sys.exit(0)", "SystemExit: 0"),
        ("raise ValueError('boom')", "boom"),
    ],
)
@pytest.mark.parametrize("words", ["plugin check BAD", "simulate ALL --config CONF --plugin BAD"])
def test_a_constructor_that_fails_or_never_ends_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str, said: str, words: str
) -> None:
    for module in ("moorage.app.plugin_construction", "moorage.testing.plugin_check"):
        monkeypatch.setattr(f"{module}.MAKE_SECONDS", 0.2)
    files = {"ALL": CLUSTER, "CONF": configuration("filter"), "BAD": CONSTRUCTED.format(body)}
    for name, text in files.items():
        (tmp_path / f"{name}.py").write_text(text)

    told = CliRunner().invoke(
        main, [str(tmp_path / f"{word}.py") if word in files else word for word in words.split()]
    )

    assert told.exit_code == 2, told.output
    assert said in told.stderr
    assert all(line.startswith("error: ") for line in told.stderr.splitlines())


NEEDS = """
from moorage import Filter

class Needs(Filter, frozen=True):
    zones: list[str]

    def filter(self, cycle, pod, node):
        raise ValueError(f"zones are {self.zones}")
"""


def test_arguments_are_given_in_braces_or_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "args.yaml").write_text("zones: [east]\n")

    untried = check(tmp_path, NEEDS)
    inline = check(tmp_path, NEEDS, "--args", "{zones: [west]}")
    in_file = check(tmp_path, NEEDS, "--args", str(tmp_path / "args.yaml"))

    assert (untried.exit_code, "give them with --args" in untried.stdout) == (0, True)
    assert (inline.exit_code, "zones are ['west']" in inline.stderr) == (2, True)
    assert (in_file.exit_code, "zones are ['east']" in in_file.stderr) == (2, True)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ("{zones: 3}", "zones"),
        ("{zonez: [a]}", "zonez"),
        ("{zones: [", "--args"),
        ("nowhere.yaml", "--args nowhere.yaml: no such file"),
        ("{}", "zones"),
    ],
)
def test_bad_arguments_are_told(tmp_path: Path, args: str, said: str) -> None:
    told = check(tmp_path, NEEDS, "--args", args)

    assert (told.exit_code, said in told.stderr) == (2, True), told.stderr
    assert "Traceback" not in told.stderr


def test_what_a_plugin_prints_is_not_the_answer(tmp_path: Path) -> None:
    told = check(tmp_path, "print('hello')\n" + source("filter", "print('called')"))

    assert told.stdout == "Bad: filter (scalar)\n"
    assert "called" in told.stderr


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("class", "a word of Python's own"),
        ("match", "a word of Python's own"),
        ("Json", "a module that is there"),
        ("NodeAffinity", "is the name of a plugin (kube-scheduler's, built in)"),
        ("123", "makes no name of a class"),
        ("", "makes no name of a class"),
        ("Straße", "use a to z"),
    ],
)
def test_a_name_that_cannot_be_is_refused_with_the_reason(
    tmp_path: Path, name: str, said: str
) -> None:
    told = CliRunner().invoke(main, ["plugin", "new", name, "--dir", str(tmp_path / "x")])

    assert (told.exit_code, said in told.stderr) == (2, True), told.stderr
    assert not (tmp_path / "x").exists()


def test_a_new_plugin_is_tested_where_another_project_says_how(tmp_path: Path) -> None:
    """The folder lies inside a clone whose own settings of pytest would not find the plugin."""
    (tmp_path / "pyproject.toml").write_text(
        '[tool.pytest.ini_options]\naddopts = "--import-mode=importlib"\n'
    )
    made = CliRunner().invoke(
        main, ["plugin", "new", "TenantZones", "--dir", str(tmp_path / "tenant-zones")]
    )
    assert made.exit_code == 0, made.output

    for folder in (tmp_path / "tenant-zones", ROOT / "examples" / "plugin-file"):
        pytest_in(folder)
