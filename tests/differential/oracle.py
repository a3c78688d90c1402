"""kube-scheduler's own decisions, from a process that lives as long as the run."""

import json
import subprocess
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from tests.differential.words import Json

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / ".kube-assets" / "bin" / "oracle"


class Oracle:
    """Ask for outcomes; a process that dies over a case is replaced, and the case has an error."""

    def __init__(self, program: Path = PROGRAM) -> None:
        self.program = program
        self.asked = 0
        self._process = self._start()

    def __enter__(self) -> "Oracle":
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def ask(self, cases: Sequence[Json]) -> list[Json]:
        """The outcomes of the cases, in their order."""
        answers: list[Json] = []
        while len(answers) < len(cases):
            answers += self._ask_once(cases[len(answers) :])
            if len(answers) < len(cases):
                name = cases[len(answers)].get("id")
                answers.append({"id": name, "error": "the oracle died over this case"})
                self.renew()
        self.asked += len(cases)
        return answers

    def renew(self) -> None:
        self._stop()
        self._process = self._start()

    def _ask_once(self, cases: Sequence[Json]) -> list[Json]:
        feeding = threading.Thread(target=_feed, args=(self._stdin, cases), daemon=True)
        feeding.start()
        answers = []
        for _ in cases:
            line = self._stdout.readline()
            if not line:
                break
            answers.append(json.loads(line))
        feeding.join()
        return answers

    @property
    def _stdin(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    @property
    def _stdout(self) -> IO[bytes]:
        assert self._process.stdout is not None
        return self._process.stdout

    def _start(self) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        return subprocess.Popen([self.program], stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)

    def _stop(self) -> None:
        self._process.kill()
        self._process.communicate()


def _feed(stdin: IO[bytes], cases: Sequence[Json]) -> None:
    try:
        for case in cases:
            stdin.write(json.dumps(case, separators=(",", ":")).encode() + b"\n")
        stdin.flush()
    except (BrokenPipeError, ValueError):
        return
