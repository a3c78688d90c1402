"""A batch of configurations, checked and built as a process does when it starts or reads again."""

import random
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from moorage.app import built_in_plugins
from moorage.app.config_bundle import load_bundle
from moorage.app.config_text import ConfigText
from moorage.app.profile_builder import build_version
from moorage.config.field_errors import ConfigError, InputError
from moorage.config.moorage_configuration import MoorageConfiguration
from moorage.config.profile_canary import ProfileCanary
from moorage.config.scheduling_policy import SchedulingPolicy
from moorage.config.types import SchedulerConfiguration
from tests.fuzz.findings import Findings
from tests.fuzz.grammar import Grammar
from tests.fuzz.mutation import mutated, mutated_bytes
from tests.fuzz.time_limit import Hang, time_limit

ROOT: Final = Path(__file__).resolve().parents[2]
HEADER: Final = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
}
STRUCTS: Final = (SchedulerConfiguration, SchedulingPolicy, ProfileCanary, MoorageConfiguration)
READ: Final = ("KubeSchedulerConfiguration", *(struct.__name__ for struct in STRUCTS[1:]))

Raw = dict[str, Any]


@cache
def samples() -> tuple[Raw, ...]:
    """Every configuration of the examples and overlays."""
    found: list[Raw] = [HEADER]
    for file in sorted([*ROOT.glob("examples/**/*.yaml"), *ROOT.glob("deploy/**/*.yaml")]):
        try:
            documents = list(yaml.safe_load_all(file.read_text()))
        except yaml.YAMLError:
            continue
        found += [d for d in documents if isinstance(d, dict) and d.get("kind") in READ]
    return tuple(found)


def run(seed: int, batch: int, count: int) -> Findings:
    """Check so many configurations."""
    findings, rng = Findings(), random.Random(f"{seed}/{batch}/configurations")
    grammar = Grammar(rng, rng.choice((0.0, 0.1, 0.4)))
    for _ in range(count):
        content = _content(rng, grammar)
        findings.inputs += 1
        try:
            with time_limit():
                _load(content)
        except (ConfigError, InputError) as error:
            findings.refused["configuration"] += 1
            if not str(error).strip():
                findings.add("unnamed refusal", repr(content), batch)
        except Hang as hang:
            findings.add("hang", hang, batch)
        except Exception as error:
            findings.add("crash", error, batch)
    return findings


def _content(rng: random.Random, grammar: Grammar) -> list[bytes | Raw]:
    documents = [_document(rng, grammar) for _ in range(rng.choice((1, 1, 2)))]
    if not any(document.get("kind") == HEADER["kind"] for document in documents):
        documents.append(dict(HEADER))
    if rng.random() < 0.2:
        return [mutated_bytes(msgspec.json.encode(d), rng) for d in documents]
    return list(documents)


def _document(rng: random.Random, grammar: Grammar) -> Raw:
    if rng.random() < 0.4:
        struct = rng.choice(STRUCTS)
        sample = next((s for s in samples() if s["kind"] == struct.__name__), HEADER)
        head = {"apiVersion": sample["apiVersion"], "kind": sample["kind"]}
        return grammar.struct(struct) | head
    return mutated(rng.choice(samples()), rng, grammar)


def _load(content: list[bytes | Raw]) -> None:
    known = built_in_plugins.built_in()
    texts = [ConfigText(f"fuzz-{i}.yaml", each) for i, each in enumerate(content)]
    bundle = load_bundle(texts, known)
    build_version(bundle, known, 1, bundle.digest())
