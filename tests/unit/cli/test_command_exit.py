"""Commands that serve, asked to end while they start."""

import contextlib
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = [sys.executable, "-c", "from moorage.cli.main import main; main()"]
ENGINE = "numpy"
PATIENCE = 30.0

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc: run it on Linux")


def starting(*command: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(
        [*PROGRAM, *command],
        env={"PYTHONPATH": str(ROOT / "src")},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def catches(process: "subprocess.Popen[bytes]", number: signal.Signals) -> bool:
    status = Path(f"/proc/{process.pid}/status").read_text()
    [caught] = [line.split()[1] for line in status.splitlines() if line.startswith("SigCgt")]
    return bool(int(caught, 16) >> (number - 1) & 1)


def has_loaded(process: "subprocess.Popen[bytes]", library: str) -> bool:
    with contextlib.suppress(FileNotFoundError):
        return library in Path(f"/proc/{process.pid}/maps").read_text()
    return False


def wait_until_caught(process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + PATIENCE
    while process.poll() is None and not catches(process, signal.SIGTERM):
        assert time.monotonic() < deadline
        time.sleep(0.001)


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(("run", "--config", "/dev/zero"), id="run"),
        pytest.param(("probe", "--help"), id="probe"),
    ],
)
def test_sigterm_is_caught_before_the_engine_is_imported(command: tuple[str, ...]) -> None:
    process = starting(*command)
    wait_until_caught(process)
    try:
        assert not has_loaded(process, ENGINE)
        process.send_signal(signal.SIGTERM)

        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()


@pytest.mark.long
@pytest.mark.parametrize("delay", [0.0, 0.1, 0.3, 0.6, 1.0])
def test_sigterm_in_the_first_second_ends_run_cleanly(delay: float, tmp_path: Path) -> None:
    """The API server is not there, so the process would wait for it for ever."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(KUBECONFIG)
    process = starting("run", "--kubeconfig", str(kubeconfig), "--secure-port=0")
    wait_until_caught(process)
    time.sleep(delay)
    process.send_signal(signal.SIGTERM)
    try:
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()


def test_a_command_that_does_not_serve_is_ended_as_any_other() -> None:
    code = "import sys, signal; sys.argv = ['moorage', 'bench']; "
    code += "from moorage.cli import command_exit; command_exit.end_on_signals(sys.argv); "
    code += "print(signal.getsignal(signal.SIGTERM) is signal.SIG_DFL)"
    env = {"PYTHONPATH": str(ROOT / "src")}
    told = subprocess.run([sys.executable, "-c", code], env=env, text=True, capture_output=True)

    assert told.stdout == "True\n"


KUBECONFIG = """
apiVersion: v1
kind: Config
current-context: here
clusters: [{name: one, cluster: {server: "http://127.0.0.1:9"}}]
users: [{name: a, user: {token: t}}]
contexts: [{name: here, context: {cluster: one, user: a}}]
"""
