"""Slow answers for a running scheduler, computed by a separate process.

The process is `moorage whatif`, `moorage capacity`, or `moorage explain` for a gang. It lists the
cluster with the scheduler's rights, uses the configuration in force, and runs at a lower CPU
priority (nice). Meanwhile the scheduler goes on scheduling.
"""

import asyncio
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from moorage.explain.capacity import Capacity
from moorage.explain.explanation import Explanation
from moorage.explain.what_if_changes import KIND
from moorage.simulate.scenario_schema import API_VERSION

SECONDS: Final = 300.0
MOST_SCENARIOS: Final = 50
_BAD_INPUT: Final = 2
_NICE: Final = 10
_FIELDS: Final = ("name", "addNodes", "drain", "remove", "loseZones", "scale", "config")


class ProcessAnswers:
    """Runs a command for a question, and reads its answer.

    `cluster` are the command-line options that name the cluster and the plugins. `configuration`
    returns the configuration in force, as text.
    """

    def __init__(
        self,
        cluster: Sequence[str],
        configuration: Callable[[], str],
        seconds: float = SECONDS,
    ) -> None:
        self._cluster = tuple(cluster)
        self._configuration = configuration
        self._seconds = seconds

    async def whatif(self, body: dict[str, Any]) -> Any:
        """`{"scenarios": [...]}`, or the fields of one scenario: the cluster after the changes."""
        given = _scenarios(body)
        with tempfile.TemporaryDirectory(prefix="moorage-whatif-") as folder:
            words = _written(Path(folder), given)
            return msgspec.json.decode(await self._run("whatif", words, Path(folder)))

    async def explain(self, pod: str) -> Explanation:
        """One pod of the cluster, named `namespace/name`."""
        with tempfile.TemporaryDirectory(prefix="moorage-explain-") as folder:
            told = await self._run("explain", ["--pod", pod], Path(folder))
            return msgspec.json.decode(told, type=Explanation)

    async def capacity(self, shapes: Sequence[dict[str, Any]], group_by: str) -> list[Capacity]:
        """How many more copies of each pod fit."""
        with tempfile.TemporaryDirectory(prefix="moorage-capacity-") as folder:
            words = ["--by", group_by]
            for number, shape in enumerate(shapes):
                file = Path(folder) / f"shape-{number}.yaml"
                words += ["--pod", str(file)]
                file.write_bytes(msgspec.json.encode(shape))
            told = await self._run("capacity", words, Path(folder))
            return msgspec.json.decode(told, type=list[Capacity])

    async def _run(self, command: str, words: Sequence[str], folder: Path) -> bytes:
        config = folder / "config.yaml"
        config.write_text(self._configuration())
        options = ("--config", str(config), "--no-validate", *words, "-o", "json")
        return await self._output(
            [sys.executable, "-m", "moorage", command, *self._cluster, *options]
        )

    async def _output(self, words: Sequence[str]) -> bytes:
        process = await asyncio.create_subprocess_exec(
            *words,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            preexec_fn=_be_nice,
        )
        try:
            async with asyncio.timeout(self._seconds):
                told, said = await process.communicate()
        except TimeoutError:
            raise TimeoutError(f"not worked out within {self._seconds:g} s") from None
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    process.kill()
                await process.communicate()
        if process.returncode and not told:
            lines = said.decode(errors="replace").strip().splitlines()
            wrong = "\n".join(each for each in lines if not each.startswith("warning:"))
            kind = ValueError if process.returncode == _BAD_INPUT else RuntimeError
            raise kind(wrong or f"ended with {process.returncode}")
        return told


def cluster_options(kubeconfig: str, context: str, plugins: Sequence[str]) -> list[str]:
    """The options that name a scheduler's cluster and its plugins."""
    words = ["--kubeconfig", kubeconfig] if kubeconfig else []
    words += ["--context", context] if context else []
    return words + [word for each in plugins for word in ("--plugin", each)]


def _be_nice() -> None:
    os.nice(_NICE)


def _scenarios(body: dict[str, Any]) -> list[dict[str, Any]]:
    given = body.get("scenarios", [body])
    if not isinstance(given, list) or not 0 < len(given) <= MOST_SCENARIOS:
        raise ValueError(f"scenarios: a list of 1 to {MOST_SCENARIOS} scenarios")
    for number, each in enumerate(given):
        if not isinstance(each, dict) or not each.keys() - {"name"}:
            raise ValueError(f"scenarios[{number}]: nothing to change: one of {_KNOWN}, or pods")
        unknown = sorted(each.keys() - {*_FIELDS})
        if unknown:
            raise ValueError(f"scenarios[{number}].{unknown[0]}: unknown field: one of {_KNOWN}")
    return [{"name": f"scenario {number + 1}", **each} for number, each in enumerate(given)]


_KNOWN: Final = ", ".join(_FIELDS)


def _written(folder: Path, scenarios: list[dict[str, Any]]) -> list[str]:
    """Write the files that the command reads; one for each node and configuration."""
    made = [_with_files(each, folder, number) for number, each in enumerate(scenarios)]
    document = {"apiVersion": API_VERSION, "kind": KIND, "scenarios": made}
    (folder / "scenarios.yaml").write_bytes(msgspec.json.encode(document))
    return ["-f", str(folder / "scenarios.yaml")]


def _with_files(scenario: dict[str, Any], folder: Path, number: int) -> dict[str, Any]:
    """The scenario with its nodes and configuration in files; a caller cannot name a file here."""
    made = dict(scenario)
    if "config" in made:
        if not isinstance(made["config"], dict):
            raise ValueError(f"scenarios[{number}].config: a KubeSchedulerConfiguration")
        made["config"] = _file(folder / f"config-{number}.yaml", made["config"])
    added = made.get("addNodes") or []
    if not isinstance(added, list) or not all(isinstance(each, dict) for each in added):
        raise ValueError(f"scenarios[{number}].addNodes: a list of count and like")
    made["addNodes"] = [
        {**each, "like": _like(each.get("like"), folder, f"scenarios[{number}].addNodes[{place}]")}
        for place, each in enumerate(added)
    ]
    return made


def _like(given: Any, folder: Path, place: str) -> str:
    if isinstance(given, dict):
        name = f"node-{len(list(folder.iterdir()))}.yaml"
        return _file(folder / name, {"apiVersion": "v1", "kind": "Node", **given})
    if not isinstance(given, str) or not given or "/" in given:
        raise ValueError(f"{place}.like: a node's name, or a node")
    return given


def _file(path: Path, content: dict[str, Any]) -> str:
    path.write_bytes(msgspec.json.encode(content))
    return path.name
