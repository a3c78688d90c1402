"""Processes of `moorage` that are forked from one that has imported it, and so begin at once.

    python forked.py serve SOCKET          imports every command, then forks for whoever asks
    python -IS forked.py ask SOCKET WORD…  asks for `moorage WORD…`, in this process's place

Of `pytest WORD…` pytest is run, which imports Moorage for the tests of a plugin.

A forked process has the words, environment, folder, open files and privileges of the process that
asks, which ends with its exit code. What Python does before it runs `moorage`, such as choosing an
encoding by the locale, was done once for all: tests of that start a process themselves.
"""

import array
import fcntl
import json
import os
import select
import socket
import struct
import sys
from typing import Any

LONGEST = 1 << 20
MOST_FILES = 64
CAPABILITY_VERSION = 0x20080522
ASIDE = 200
"""Files are moved to numbers from here on, while their own are made free."""


def ask(address: str, words: list[str]) -> int:
    """Have a command run in this process's place; its exit code."""
    files = [int(name) for name in os.listdir("/proc/self/fd")]
    files = sorted(file for file in files if _is_open(file))
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asked:
        asked.connect(address)
        given = {
            "words": words,
            "files": files,
            "folder": os.getcwd(),
            "env": dict(os.environ),
            "privileges": _privileges(),
        }
        text = json.dumps(given).encode()
        rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", files))]
        asked.sendmsg([len(text).to_bytes(4, "big")], rights)
        asked.sendall(text)
        return asked.recv(1)[0]


def _is_open(file: int) -> bool:
    try:
        os.fstat(file)
    except OSError:
        return False
    return True


def serve(address: str) -> None:
    """Fork for everybody who asks, until standard input ends."""
    import pytest  # noqa: F401

    from moorage.cli.main import COMMANDS

    sys.dont_write_bytecode = True
    for command in COMMANDS.values():
        command.load()
    import moorage.memory.memory_cluster
    import moorage.recording
    import moorage.simulate.scenario_run
    import moorage.simulate.simulation
    import moorage.testing  # noqa: F401

    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as listening:
        listening.bind(address)
        listening.listen(16)
        print("ready", flush=True)
        running = 0
        while True:
            ready, _, _ = select.select([listening, sys.stdin], [], [])
            while running and os.waitpid(-1, os.WNOHANG)[0]:
                running -= 1
            if sys.stdin in ready:
                return
            asking, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                break
            asking.close()
            running += 1
    _run_for(asking)


def _run_for(asking: socket.socket) -> None:
    """Run a command in a process of its own, and answer with its exit code."""
    head, files, _, _ = socket.recv_fds(asking, 4, MOST_FILES)
    text = b""
    while len(text) < int.from_bytes(head, "big"):
        text += asking.recv(LONGEST)
    given = json.loads(text)
    child = os.fork()
    if child:
        for file in (0, 1, 2, *files):
            os.close(file)
        _, status = os.waitpid(child, 0)
        asking.sendall(bytes([os.waitstatus_to_exitcode(status) & 255]))
        os._exit(0)
    asking.close()
    _become(given, files)
    if sys.argv[1:2] == ["pytest"]:
        import pytest

        sys.exit(pytest.main(sys.argv[2:]))
    from moorage.cli.main import main

    main()


def _become(given: dict[str, Any], files: list[int]) -> None:
    """Take the words, environment, folder and files of who asked."""
    aside = [fcntl.fcntl(file, fcntl.F_DUPFD, ASIDE) for file in files]
    os.closerange(0, ASIDE)
    for file, name in zip(aside, given["files"], strict=True):
        os.dup2(file, name)
        os.close(file)
    os.chdir(given["folder"])
    os.environ.clear()
    os.environ.update(given["env"])
    _keep_only(given["privileges"])
    sys.argv = ["moorage", *given["words"]]
    sys.path[:0] = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    encoding = os.environ.get("PYTHONIOENCODING", "utf-8")
    streams = {"stdin": "r", "stdout": "w", "stderr": "w"}
    for number, (name, mode) in enumerate(streams.items()):
        opened = None
        if number in given["files"]:
            opened = open(number, mode, encoding=encoding, closefd=False)  # noqa: SIM115 (for good)
        setattr(sys, name, opened)
        setattr(sys, f"__{name}__", opened)


def _privileges() -> int:
    """The capabilities in effect; see capabilities(7)."""
    with open("/proc/self/status") as status:
        [line] = [line for line in status if line.startswith("CapEff:")]
    return int(line.split()[1], 16)


def _keep_only(privileges: int) -> None:
    import ctypes

    low, high = privileges & 0xFFFFFFFF, privileges >> 32
    header, data = struct.pack("Ii", CAPABILITY_VERSION, 0), (low, low, 0, high, high, 0)
    assert ctypes.CDLL(None).capset(header, struct.pack("6I", *data)) == 0


if __name__ == "__main__":
    what, address, *words = sys.argv[1:]
    if what == "serve":
        serve(address)
    else:
        sys.exit(ask(address, words))
