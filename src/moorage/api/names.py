"""Names as Kubernetes checks them: qualified names, label values, subdomains."""

import re
from functools import lru_cache
from typing import Final

_NAME: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_LABEL_VALUE: Final = re.compile(r"(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?")
_SUBDOMAIN: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")


@lru_cache(maxsize=1 << 14)
def is_qualified_name(text: str) -> bool:
    """Say whether the text is a label key: a name, optionally after `subdomain/`."""
    prefix, slash, name = text.rpartition("/")
    if slash and not _is_subdomain(prefix):
        return False
    return 0 < len(name) <= 63 and _NAME.fullmatch(name) is not None


@lru_cache(maxsize=1 << 14)
def is_label_value(text: str) -> bool:
    """Say whether the text may be the value of a label; it may be empty."""
    return len(text) <= 63 and _LABEL_VALUE.fullmatch(text) is not None


def _is_subdomain(text: str) -> bool:
    return 0 < len(text) <= 253 and _SUBDOMAIN.fullmatch(text) is not None
