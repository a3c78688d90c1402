"""However a command ends, it says why in one line."""

import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from moorage.cli.command_errors import RootGroup
from moorage.cli.main import COMMANDS, main
from tests.unit.cli.command import CLUSTER, ROOT, shell

MOST_MODULES = 110
HELP = """
import sys
before = set(sys.modules)
sys.argv = ["moorage", "--help"]
try:
    from moorage.cli.main import main
    main()
finally:
    print("\\n", *(set(sys.modules) - before))
"""


WRITERS = (
    "--help",
    "simulate --help",
    "simulate $FILE",
    "simulate $FILE -o json",
    "config check $CONFIG",
    "plugin list",
)


def test_help_comes_at_once() -> None:
    """What takes time is importing: only click is, beside a little of ours and of Python's."""
    env = {"PYTHONPATH": str(ROOT / "src")}
    told = subprocess.run([sys.executable, "-c", HELP], env=env, text=True, capture_output=True)

    imported = told.stdout.splitlines()[-1].split()
    packages = {name.partition(".")[0] for name in imported} - sys.stdlib_module_names
    assert "Usage: moorage" in told.stdout
    assert packages == {"click", "moorage"}
    assert len(imported) <= MOST_MODULES


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_each_says_of_itself(name: str) -> None:
    command = COMMANDS[name].load()

    assert command.get_short_help_str(100) == COMMANDS[name].short_help


def test_a_command_that_is_not_there_is_named() -> None:
    told = CliRunner().invoke(main, ["simulat"])

    assert told.exit_code == 2
    assert "No such command 'simulat'" in told.stderr


@pytest.mark.parametrize("words", WRITERS)
@pytest.mark.parametrize(
    ("redirection", "complaint"),
    [
        pytest.param(">/dev/full", "standard output is full", id="full"),
        pytest.param(">&-", "standard output is closed", id="closed"),
    ],
)
def test_output_that_cannot_be_written_is_said(
    tmp_path: Path, words: str, redirection: str, complaint: str
) -> None:
    (tmp_path / "all.yaml").write_text(CLUSTER)
    config = ROOT / "examples" / "tenants" / "scheduler.yaml"

    told = shell(f"moorage {words} {redirection}", FILE=tmp_path / "all.yaml", CONFIG=config)

    assert (told.returncode, told.stderr.count("\n")) == (2, 1), told.stderr
    assert told.stderr.startswith(f"error: {complaint}")


@pytest.mark.parametrize("words", ["--help", "simulate $FILE", "plugin list"])
def test_a_reader_that_has_seen_enough_ends_it_quietly(tmp_path: Path, words: str) -> None:
    (tmp_path / "all.yaml").write_text(CLUSTER)

    told = shell(f"moorage {words} | head -c 1", FILE=tmp_path / "all.yaml")

    assert (told.stderr, len(told.stdout)) == ("", 1)


def test_a_closed_standard_error_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(CLUSTER)

    told = shell("moorage simulate $FILE -o json 2>&-", FILE=tmp_path / "all.yaml")

    assert (told.returncode, '"node": "a"' in told.stdout) == (0, True)


def failing(error: BaseException) -> click.Group:
    @click.group(cls=RootGroup, lazy={})
    def root() -> None:
        pass

    @root.command("work")
    def work() -> None:
        raise error

    return root


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (PermissionError(13, "Permission denied", "/x/y"), 2, "/x/y: Permission denied"),
        (RecursionError("maximum recursion depth exceeded"), 2, "nested too deeply"),
        (MemoryError(), 1, "out of memory"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (TypeError("string indices\nmust be integers"), 1, "moorage is at fault: TypeError"),
    ],
)
def test_whatever_is_raised_becomes_one_line(error: BaseException, code: int, said: str) -> None:
    told = CliRunner().invoke(failing(error), ["work"])

    assert (told.exit_code, told.stderr.count("\n")) == (code, 1)
    assert told.stderr.startswith("error: ")
    assert said in told.stderr


def test_the_traceback_of_a_fault_of_ours_is_shown_on_request() -> None:
    told = CliRunner().invoke(failing(KeyError("pod")), ["work"], env={"MOORAGE_DEBUG": "1"})

    assert "Traceback" in told.stderr


@pytest.mark.parametrize(
    ("endpoint", "refused"),
    [
        ("nonsense", True),
        ("localhost:4318", True),
        ("grpc://localhost:4317", True),
        ("http://", True),
        ("http://localhost:x", True),
        ("http://localhost:4318", False),
        ("https://collector/v1/traces", False),
    ],
)
def test_a_collector_that_spans_cannot_be_sent_to_is_refused(endpoint: str, refused: bool) -> None:
    words = ["run", "--otlp-endpoint", endpoint, "--kubeconfig", "nowhere"]

    told = CliRunner().invoke(main, words)

    said = f"'--otlp-endpoint': '{endpoint}' is not a URL: write http://HOST:PORT"
    assert told.exit_code == 2
    assert (said in told.stderr) == refused
    assert ("nowhere" in told.stderr) != refused
