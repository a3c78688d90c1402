"""What tests of preemption share."""

import pytest

from moorage.cycle.profile import Profile
from tests.unit.preemption.preemption_cases import profile_with


@pytest.fixture
def default() -> Profile:
    return profile_with()
