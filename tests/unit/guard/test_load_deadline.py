"""What a plugin may take to load, in the main thread and in the one that reloads run in."""

import asyncio
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from moorage.app import plugin_files
from moorage.app.reload_thread import in_reload_thread
from moorage.config.field_errors import InputError
from moorage.guard.load_deadline import LoadTimeout, load_deadline

SOON = 0.2
PROFILED = """
import cProfile, threading, time
from moorage.guard.load_deadline import LoadTimeout, load_deadline

def work():
    try:
        with load_deadline({}):
            {}
    except LoadTimeout:
        pass

reload = threading.Thread(target=work)
reload.start()
reload.join()
cProfile.run("(lambda: None)()")
"""


def _loop_for_ever() -> None:
    with load_deadline(SOON):
        while True:
            pass


def _swallow_for_ever() -> None:
    with load_deadline(SOON):
        while True:
            try:
                time.sleep(0.01)
            except BaseException:  # as a plugin might, once
                break
        while True:
            pass


@pytest.mark.parametrize("work", [_loop_for_ever, _swallow_for_ever])
def test_a_loop_is_interrupted_in_a_thread_too(work: object) -> None:
    with pytest.raises(LoadTimeout, match=r"took longer than 0\.2s"):
        asyncio.run(in_reload_thread(work))  # type: ignore[arg-type]


def test_nothing_is_interrupted_once_it_is_done() -> None:
    def work() -> int:
        for _ in range(50):
            with load_deadline(0.001):
                time.sleep(0.0005)
        return sum(range(100_000))

    for _ in range(3):
        try:
            assert asyncio.run(in_reload_thread(work)) == sum(range(100_000))
        except LoadTimeout:  # the machine was slow: that is told as what it is
            continue


@pytest.mark.parametrize(
    ("seconds", "work"),
    [
        pytest.param(30.0, "pass", id="what is loaded in time"),
        pytest.param(0.05, "time.sleep(0.2)", id="what is interrupted as it ends"),
        pytest.param(0.05, "[0 for _ in iter(int, 1)]", id="what is interrupted"),
    ],
)
def test_nothing_is_left_under_way_that_profiled_code_would_wait_for(
    seconds: float, work: str
) -> None:
    code = PROFILED.format(seconds, work)

    assert subprocess.run([sys.executable, "-c", code], timeout=60).returncode == 0


def test_a_plugin_file_that_never_ends_is_refused_when_it_is_loaded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plugin_files, "IMPORT_SECONDS", SOON)
    file = tmp_path / "rules.py"
    file.write_text("while True:\n    pass\n")
    plugins = plugin_files.PluginSet([str(file)])

    with pytest.raises(InputError, match=r"rules\.py: does not import: took longer than 0\.2s"):
        asyncio.run(in_reload_thread(plugins.load))


def test_what_blocks_is_not_waited_for_and_does_not_keep_the_process() -> None:
    let_go = threading.Event()

    with pytest.raises(InputError, match=r"not read within 0\.2s: a plugin blocks"):
        asyncio.run(in_reload_thread(let_go.wait, seconds=SOON))

    (left,) = [thread for thread in threading.enumerate() if thread.name == "reload"]
    assert left.daemon
    let_go.set()
    left.join()
