"""Checks answer in kube's form."""

import pytest

from moorage.serve.health import Check, Health, HealthAnswer

SYNCED = Check("sched-handler-sync", lambda: None)
UNSYNCED = Check("sched-handler-sync", lambda: "not listed yet: pods")


@pytest.mark.parametrize(
    ("ready", "verbose", "excluded", "want"),
    [
        pytest.param(SYNCED, False, (), HealthAnswer(200, "ok"), id="all is well in one word"),
        pytest.param(
            SYNCED,
            True,
            (),
            HealthAnswer(
                200,
                "[+]ping ok\n[+]sched-handler-sync ok\n[+]shutdown ok\nreadyz check passed\n",
            ),
            id="verbose shows every check",
        ),
        pytest.param(
            UNSYNCED,
            False,
            (),
            HealthAnswer(
                500,
                "[+]ping ok\n[-]sched-handler-sync failed: reason withheld\n[+]shutdown ok\n"
                "readyz check failed\n",
            ),
            id="a failure shows every check and no reason",
        ),
        pytest.param(
            UNSYNCED,
            False,
            ("sched-handler-sync",),
            HealthAnswer(200, "ok"),
            id="a check that is left out cannot fail",
        ),
        pytest.param(
            SYNCED,
            True,
            ("pingg",),
            HealthAnswer(
                200,
                "[+]ping ok\n[+]sched-handler-sync ok\n[+]shutdown ok\n"
                'warn: some health checks cannot be excluded: no matches for "pingg"\n'
                "readyz check passed\n",
            ),
            id="leaving out what is not there is said to have no effect",
        ),
    ],
)
def test_ready(ready: Check, verbose: bool, excluded: tuple[str, ...], want: HealthAnswer) -> None:
    assert Health(ready=[ready]).ask("readyz", verbose=verbose, excluded=excluded) == want


def test_a_process_that_is_not_ready_may_live() -> None:
    health = Health(ready=[UNSYNCED])

    assert health.ask("livez", verbose=False).status == 200
    assert health.ask("healthz", verbose=False).status == 200
    assert health.ask("readyz", verbose=False).status == 500


def test_a_process_that_shuts_down_is_not_ready_and_may_live() -> None:
    health = Health(ready=[SYNCED], stopping=lambda: True)

    assert health.ask("readyz", verbose=False).status == 500
    assert health.ask("livez", verbose=False).status == 200


@pytest.mark.parametrize(
    ("name", "want"),
    [
        pytest.param("ping", HealthAnswer(200, "ok"), id="one that passes"),
        pytest.param(
            "sched-handler-sync",
            HealthAnswer(500, "internal server error: not listed yet: pods\n"),
            id="one that fails tells why",
        ),
        pytest.param(
            "other", HealthAnswer(404, "no check 'other' at /readyz\n"), id="none of that name"
        ),
    ],
)
def test_one_check(name: str, want: HealthAnswer) -> None:
    assert Health(ready=[UNSYNCED]).ask_one("readyz", name) == want
