"""Which tests reach which stretch: a pytest plugin that marks, test by test, what has run.

`-p tests.mutants.reach`, with the file of the map in MUTANTS. A line per test: its id, its CPU
seconds, and a bit per stretch of the whole source. Tests that the file has are left out: a run that
was cut off goes on.
"""

import ast
import base64
import builtins
import functools
import hashlib
import importlib.machinery
import json
import os
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, Final, NamedTuple

import numpy as np
import pytest

from tests.mutants.sites import stretches

SOURCE: Final = Path(__file__).parents[2] / "src" / "moorage"
MARKS: Final = "_reached_stretches_"


class Reached(NamedTuple):
    """What one test costs and reaches."""

    test: str
    seconds: float
    bits: bytes

    @classmethod
    def of(cls, test: str, seconds: float, marks: bytearray) -> "Reached":
        bits = np.packbits(np.frombuffer(marks, np.uint8)).tobytes()
        return cls(test, round(seconds, 4), zlib.compress(bits))

    def among(self, stretches: Sequence[int]) -> list[int]:
        """Those of the stretches that it reaches."""
        bits = zlib.decompress(self.bits)
        return [each for each in stretches if bits[each // 8] >> 7 - each % 8 & 1]


def digest() -> str:
    """Names the source that a map and the results on it hold for."""
    text = hashlib.sha256()
    for path in sorted(SOURCE.rglob("*.py")):
        text.update(str(path.relative_to(SOURCE)).encode() + path.read_bytes())
    return text.hexdigest()[:12]


@functools.cache
def numbering() -> dict[Path, int]:
    """The number of each file's first stretch; that of nothing is how many there are."""
    first, numbers = 0, {}
    for path in sorted(SOURCE.rglob("*.py")):
        numbers[path] = first
        first += len(stretches(ast.parse(path.read_bytes())))
    return {**numbers, Path(): first}


def read(path: Path) -> Iterator[Reached]:
    if path.exists():
        for line in path.read_text().splitlines():
            test, seconds, bits = json.loads(line)
            yield Reached(test, seconds, base64.b64decode(bits))


class MarkingLoader(importlib.machinery.SourceFileLoader):
    """Loads a module whose stretches each set their mark as they begin."""

    def get_code(self, fullname: str) -> CodeType:
        path = Path(self.get_filename(fullname))
        tree = ast.parse(path.read_bytes())
        for number, stretch in reversed(list(enumerate(stretches(tree), numbering()[path]))):
            mark = ast.parse(f"{MARKS}[{number}] = 1").body[0]
            for node in ast.walk(mark):
                ast.copy_location(node, stretch.body[stretch.start])
            stretch.body.insert(stretch.start, mark)
        return compile(tree, path, "exec", dont_inherit=True)


class MarkingFinder:
    """Finds the modules of Moorage, and gives them the loader that marks."""

    @staticmethod
    def find_spec(
        name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] != SOURCE.name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and (spec.origin or "").endswith(".py"):
            spec.loader = MarkingLoader(name, str(spec.origin))
        return spec


class ReachPlugin:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.marks = bytearray(numbering()[Path()])
        self.passed = False
        setattr(builtins, MARKS, self.marks)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        known = {reached.test for reached in read(self.path)}
        items[:] = [item for item in items if item.nodeid not in known]

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.passed = report.passed and (report.when == "setup" or self.passed)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self.marks[:] = bytes(len(self.marks))
        began = time.process_time()
        result = yield
        seconds = time.process_time() - began
        if self.passed:
            test, seconds, bits = Reached.of(item.nodeid, seconds, self.marks)
            with self.path.open("a") as file:
                file.write(json.dumps([test, seconds, base64.b64encode(bits).decode()]) + "\n")
        return result


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    if SOURCE.name in sys.modules:
        raise pytest.UsageError("moorage was imported before its stretches could be marked")
    sys.meta_path.insert(0, MarkingFinder)
    early_config.pluginmanager.register(ReachPlugin(Path(os.environ["MUTANTS"])))
