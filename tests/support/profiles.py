"""How many random examples a property is tried with.

HYPOTHESIS_PROFILE=fast (`make test`) draws few, the same in each run; HYPOTHESIS_PROFILE=long
(`make long-tests`) draws many, new ones in each run, and keeps what it finds in .hypothesis.
"""

import os

from hypothesis import settings
from hypothesis.database import DirectoryBasedExampleDatabase

settings.register_profile(
    "fast",
    deadline=None,  # tests count work; none of them has a clock
    max_examples=30,
    derandomize=True,
    database=None,
)
settings.register_profile(
    "long",
    deadline=None,
    max_examples=1000,
    derandomize=False,
    database=DirectoryBasedExampleDatabase(".hypothesis/examples"),
    print_blob=True,
)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "fast")
settings.load_profile(PROFILE)


def at_least(examples: int) -> settings:
    """For a property that says little with fewer; its test says why."""
    return settings(max_examples=max(examples, settings().max_examples))


class AllMet(Exception):
    """Raised by an example that completes what others have met before it: no more are needed."""
