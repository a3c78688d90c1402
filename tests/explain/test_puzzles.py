"""Each puzzle's answer is at least as good as the one a good engineer would give.

A puzzle names the pod, what is to be said of it (`says`), what it waits for (`waits`), and the
`answer`: the kind of change, a part of its summary, its node, how many parts it has; `or` are kinds
that are as good, `either` those its first part may have, `never` kinds that must not be suggested.
`config` is the configuration where it is not the default.
Our answer has to be among the changes told, nothing told may be wrong, and each is applied.
"""

from pathlib import Path
from typing import Any

import pytest
import yaml

from moorage.explain import json_patch
from moorage.explain.change import Change, Objects
from moorage.explain.explanation import Explanation
from moorage.explain.sources import Source
from tests.unit.explain.test_sources import stands

Raw = dict[str, Any]
PUZZLES = sorted((Path(__file__).parent / "puzzles").glob("*.yaml"))


def read(file: Path) -> Raw:
    puzzle: Raw = yaml.safe_load(file.read_text())
    return puzzle


def test_there_are_thirty() -> None:
    assert len(PUZZLES) >= 30


@pytest.mark.parametrize("file", PUZZLES, ids=lambda file: file.stem)
def test_ours_is_at_least_as_good(file: Path) -> None:
    puzzle = read(file)
    source = stands(*puzzle["objects"], config=puzzle.get("config"))
    told = source.explain(puzzle["pod"])

    said = " ".join((told.message, *told.in_words, *(each.reason for each in told.refusals)))
    for words in puzzle.get("says", ()):
        assert words in said
    for words in puzzle.get("waits", ()):
        assert any(words in reason for reason in told.waits_for), told.waits_for
    answer = puzzle["answer"]
    assert not {change.kind for change in told.changes} & set(answer.get("never", ()))
    if answer["kind"] is not None:
        assert any(as_good(change, answer) for change in told.changes), summaries(told)


@pytest.mark.parametrize("file", PUZZLES, ids=lambda file: file.stem)
def test_every_change_that_is_told_lets_the_pod_in(file: Path) -> None:
    puzzle = read(file)
    told = stands(*puzzle["objects"], config=puzzle.get("config")).explain(puzzle["pod"])

    for change in told.changes:
        after = applied(puzzle, change).explain(puzzle["pod"])
        assert after.message.startswith("it fits"), f"{change.summary}: {after.message}"


def as_good(change: Change, answer: Raw) -> bool:
    if change.kind in answer.get("or", ()):
        return True
    kinds = {answer["kind"], *answer.get("either", ())}
    parts = len(change.summary.split(" and ")) if change.kinds else 1
    return (
        change.kind in kinds
        and answer.get("summary", "") in change.summary
        and answer.get("node", change.node) == change.node
        and answer.get("parts", 1) == parts
    )


def summaries(told: Explanation) -> list[str]:
    return [f"{change.kind}: {change.summary}" for change in told.changes]


def applied(puzzle: Raw, change: Change) -> Source:
    """The cluster once a change was made; that of a gang is one of each of its pods."""
    objects: list[Raw] = puzzle["objects"]
    config = puzzle.get("config")
    if isinstance(change.patch, Objects):
        gone = {each["name"] for each in change.patch.delete}
        kept = [each for each in objects if each["metadata"]["name"] not in gone]
        return stands(*change.patch.add, *kept, config=config)
    before = stands(*objects, config=config)
    pending = [
        each["metadata"]["name"]
        for each in objects
        if each["kind"] == "Pod" and "nodeName" not in each["spec"]
    ]
    changed = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            **json_patch.apply(before.raw(before.pod(each["metadata"]["name"])), change.patch),
        }
        if each["kind"] == "Pod" and each["metadata"]["name"] in pending
        else each
        for each in objects
    ]
    return stands(*changed, config=config)
