"""The configurations that were in force, and what each changed."""

from typing import Any

from moorage.app.configuration_history import KEPT, ConfigurationHistory
from tests.unit.app.test_config_bundle import file, load

CONFIG: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "profiles": [{"schedulerName": "moorage"}],
}
SECRET = "LS0tLVNFQ1JFVC0tLS0="


def extender(weight: int) -> dict[str, Any]:
    return {
        "urlPrefix": "https://rules.example",
        "prioritizeVerb": "score",
        "weight": weight,
        "enableHTTPS": True,
        "tlsConfig": {"certData": SECRET, "keyData": SECRET},
    }


def test_each_says_how_it_differs_and_the_last_is_in_force() -> None:
    history = ConfigurationHistory(lambda: 5.0)
    history.apply(load(file("a", CONFIG)))
    history.apply(load(file("a", CONFIG | {"podMaxBackoffSeconds": 20})))

    second, first = history.rows()

    assert (first["generation"], first["difference"], first["in_force"]) == (1, [], False)
    assert (second["generation"], second["in_force"], second["at"]) == (2, True, 5.0)
    assert "+podMaxBackoffSeconds: 20" in second["difference"]
    assert "-podMaxBackoffSeconds: 10" in second["difference"]


def test_only_the_last_few_are_kept_and_keys_are_not_shown() -> None:
    history = ConfigurationHistory(lambda: 5.0)
    for weight in range(1, KEPT + 6):
        history.apply(load(file("a", CONFIG | {"extenders": [extender(weight)]})))

    rows = history.rows()

    assert [each["generation"] for each in rows] == list(range(KEPT + 5, 5, -1))
    assert "keyData: LS0" not in str(rows)
