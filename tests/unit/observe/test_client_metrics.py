"""Requests to the API server, as client-go counts them."""

from prometheus_client import CollectorRegistry

from moorage.observe.client_metrics import ClientMetrics


def test_requests_are_counted_with_their_answer_and_their_wait() -> None:
    requests = ClientMetrics("api:6443")
    registry = CollectorRegistry()
    registry.register(requests)
    requests.waited("POST", 0.2)
    requests.answered("POST", 201, 0.003)
    requests.answered("POST", 0, 30.0)

    def read(name: str, **labels: str) -> float | None:
        return registry.get_sample_value(name, {"host": "api:6443", **labels})

    assert read("rest_client_requests_total", code="201", method="POST") == 1
    assert read("rest_client_requests_total", code="<error>", method="POST") == 1
    assert read("rest_client_request_duration_seconds_bucket", verb="POST", le="0.005") == 1
    assert read("rest_client_rate_limiter_duration_seconds_sum", verb="POST") == 0.2


def test_objects_that_cannot_be_read_are_counted_by_resource() -> None:
    requests = ClientMetrics("api:6443")
    registry = CollectorRegistry()
    registry.register(requests)
    requests.left_out("pods")
    requests.left_out("pods")

    assert registry.get_sample_value("moorage_unreadable_objects_total", {"resource": "pods"}) == 2
