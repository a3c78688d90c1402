"""Every example, scenario and kind of bench ends as it did: the same nodes, the same calls.

If a test here fails, decisions have changed. If they should have: `make frozen`, and a commit that
says why.
"""

from pathlib import Path

import pytest

from tests.frozen.stories import ROOT, SEEDS, SHOWN, STORIES, frozen

OTHERS = [seed for seed in SEEDS if seed != SHOWN]


@pytest.mark.parametrize("name", STORIES)
def test_it_ends_as_it_did(name: str) -> None:
    outcome = STORIES[name](SHOWN)

    assert outcome.placed
    assert outcome.hashes() == frozen()[name][str(SHOWN)]


@pytest.mark.long
@pytest.mark.parametrize("seed", OTHERS)
@pytest.mark.parametrize("name", STORIES)
def test_so_it_does_with_every_seed(name: str, seed: int) -> None:
    assert STORIES[name](seed).hashes() == frozen()[name][str(seed)]


def test_every_story_is_frozen_and_nothing_else() -> None:
    assert frozen().keys() == STORIES.keys()


def test_every_example_is_a_story() -> None:
    told = (Path(__file__).parent / "stories.py").read_text()
    folders = [each.name for each in (ROOT / "examples").iterdir() if each.is_dir()]

    assert [name for name in folders if name not in told] == ["packaged-plugin"]
