"""What holds for all tests."""

import pytest

KUBE_SECONDS = 400.0
"""A control plane that starts in seconds may take minutes where everybody wants the processor."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("kube") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(KUBE_SECONDS))
