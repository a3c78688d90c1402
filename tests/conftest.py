"""What holds for all tests."""

import pytest
from hypothesis import settings

settings.register_profile("moorage", deadline=None)  # tests count work; none of them has a clock
settings.load_profile("moorage")

KUBE_SECONDS = 400.0
"""A control plane that starts in seconds may take minutes where everybody wants the processor."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.get_closest_marker("kube") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(KUBE_SECONDS))
