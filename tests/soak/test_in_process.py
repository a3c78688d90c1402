"""Pods of every shape come and go: nothing grows but what is known to be bounded."""

import gc
from typing import Final

import pytest

from tests.soak.holders import sizes
from tests.soak.in_process import Churn, run

PODS: Final = 500
SLACK: Final = 5
BOUNDED: Final = (
    "<_lru_cache_wrapper>",
    "observers[]",  # the last 20,000 decisions
    "scheduler.cache.classes.",  # swept after 4,096 new ones
    "scheduler.cache.table._label",  # numbered anew after 1,024 values
    "scheduler.cache.table.derived[]._selections.",
    "scheduler.cache.table.derived[]._tallies",  # 4,096
    "scheduler.cache.table.derived[].census.",  # swept after 4,096 new ones
    "scheduler.cache.table.derived[].topologies._known",  # 256
    "scheduler.cache.table.node_log.",
    "scheduler.cache.table.pod_log.",
    "scheduler.cache.table.taint_sets.",
    "scheduler.cache.table.usage_log.",
    "scheduler.in_force.by_name[].columns.",  # 8,192
    "scheduler.in_force.by_name[].shared[]._made",  # plans of 4,096 groups of labels
    "scheduler.in_force.by_name[].shared[].selectors._known",  # 4,096
    "scheduler._features._listed[].guard.",  # forgotten when pairs are looked at
    "scheduler._features._listed[].usage.",  # follow the log of pods when somebody asks
    "scheduler.in_force.by_name[].shared[]._budgets.",  # as of the last search for victims
    "scheduler.in_force.by_name[].shared[].lower.",
    "scheduler.in_force.by_name[].shared[].sayings.",  # until carried terms change
    "scheduler.in_force.by_name[].shared[][]",  # books of quotas: as of the last attempt
    "scheduler.queue._diary.",
    "scheduler.recorder._series",  # 4,096
    "._statuses._last_words",  # looked through after 1,000 more
)
"""Where what is gone may be remembered, each with a bound that has a test of its own."""


@pytest.mark.long
def test_nothing_grows_but_what_is_bounded() -> None:
    found: list[dict[str, int]] = []

    async def play(churn: Churn) -> None:
        for _ in range(2):
            await churn.churn(PODS)
            await churn.empty()
            gc.collect()
            found.append(sizes({"scheduler": churn.scheduler, "observers": churn.observers}))
        assert churn.server.bound > PODS
        assert churn.server.evicted > 0

    run(play)

    first, second = found
    grown = {way: (first.get(way, 0), size) for way, size in second.items()}
    assert {
        way: (before, after)
        for way, (before, after) in grown.items()
        if after > before + SLACK and not any(each in way for each in BOUNDED)
    } == {}
