"""Settings that only a restart changes."""

import msgspec

from moorage.app import reloader
from moorage.config.types import ClientConnection, LeaderElection, SchedulerConfiguration


def test_what_differs_and_cannot_change_is_named() -> None:
    before = SchedulerConfiguration()
    after = SchedulerConfiguration(
        leader_election=LeaderElection(resource_name="other"),
        client_connection=ClientConnection(qps=7.0, burst=9),
        delay_cache_until_active=True,
        pod_max_backoff_seconds=30,
    )

    assert reloader.needs_restart(before, after) == (
        "leaderElection.resourceName",
        "clientConnection.qps",
        "clientConnection.burst",
        "delayCacheUntilActive",
    )
    assert reloader.keep_restart_only(before, after) == msgspec.structs.replace(
        before, pod_max_backoff_seconds=30
    )


def test_nothing_needs_a_restart_where_only_profiles_differ() -> None:
    before = SchedulerConfiguration()

    assert reloader.needs_restart(before, SchedulerConfiguration(parallelism=2)) == ()
