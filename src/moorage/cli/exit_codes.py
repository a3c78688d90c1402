"""Exit codes, for scripts."""

from typing import Final

DONE: Final = 0
FAILED: Final = 1
"""Something broke, or a plugin raised: what was asked for was not done as it should be."""
BAD_INPUT: Final = 2
PENDING: Final = 3
"""Pods are pending, and `--fail-on-pending` was given."""
INTERRUPTED: Final = 130
