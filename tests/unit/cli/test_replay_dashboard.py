"""`moorage replay --dashboard`: a moment of the past, and every decision up to it."""

from pathlib import Path

from moorage.cli.replay_dashboard import ReplayedRecords, replay_sources
from moorage.recording.play import Player
from tests.unit.dashboard.shown import get
from tests.unit.recording.mixed_cluster import record


def test_the_cluster_of_a_moment_and_the_decisions_up_to_it(tmp_path: Path) -> None:
    folder = record(tmp_path / "mixed").folder
    kept = ReplayedRecords()
    player = Player(folder, heard=kept.made)
    player.play_until("#40")

    sources = replay_sources(player.replay, kept.records)
    about, cluster = get(sources, "about"), get(sources, "cluster")
    told, queue = get(sources, "decisions?limit=100"), get(sources, "queue")

    assert (about["mode"], about["live"]) == ("replay", False)
    assert about["now"] == player.replay.now
    assert len(cluster["nodes"]["name"]) == len(player.replay.cache.table)
    assert sum(cluster["nodes"]["pods"]) == sum(1 for _ in player.replay.cache.pods())
    assert len(told["items"]) == player.replay.attempts - player.replay.late == 39
    assert any(each.get("scores") for each in told["items"])
    assert queue["items"]
    waiting = queue["items"][0]["pod"]
    assert get(sources, f"pod/{waiting}")["pod"] == waiting
    assert get(sources, f"cluster?pod={waiting}")["verdicts"]


def test_who_was_chosen_to_leave_for_whom_is_told_of_pods_that_are_gone(tmp_path: Path) -> None:
    recorded = record(tmp_path / "mixed")
    kept = ReplayedRecords()
    player = Player(recorded.folder, heard=kept.made)
    player.play()

    sources = replay_sources(player.replay, kept.records)

    left = recorded.simulation.evictions
    assert left
    for each in left:
        told = get(sources, f"pod/{each.namespace}/{each.name}")["left_for"]
        assert [(f"Pod {row['by']}", row["node"], row["way"]) for row in told] == [
            (each.by, each.node, "chosen")
        ]
    urgent = get(sources, f"pod/{left[0].by.removeprefix('Pod ')}")
    assert f"{left[0].namespace}/{left[0].name}" in [each["pod"] for each in urgent["victims"]]
    assert urgent["attempts"][0]["victims"] == len(urgent["victims"])
