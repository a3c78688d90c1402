"""Names of objects, label keys, label values: what Kubernetes accepts, and its error texts."""

import re
from functools import lru_cache
from typing import Final

_NAME: Final = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL: Final = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN: Final = rf"{_LABEL}(\.{_LABEL})*"
_MUST: Final = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character"
)
_NAME_MUST: Final = (
    f"{_MUST} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '{_NAME}')"
)
_SUBDOMAIN_MUST: Final = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    f"for validation is '{_SUBDOMAIN}')"
)
_LABEL_MUST: Final = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    f"for validation is '{_LABEL}')"
)
_LONGEST_SUBDOMAIN: Final = 253
_LONGEST_LABEL: Final = 63
_VALUE_MUST: Final = (
    f"a valid label must be an empty string or {_MUST.removeprefix('must ')} (e.g. 'MyValue',  or "
    f"'my_value',  or '12345', regex used for validation is '({_NAME})?')"
)


@lru_cache(maxsize=1 << 14)
def is_qualified_name(text: str) -> bool:
    """Say whether the text is a label key: a name, optionally after `subdomain/`."""
    return not label_key_faults(text)


@lru_cache(maxsize=1 << 14)
def is_label_value(text: str) -> bool:
    """Say whether the text may be the value of a label; it may be empty."""
    return not label_value_faults(text)


def label_key_faults(key: str) -> list[str]:
    """Say what keeps `key` from being a label key, which is also called a qualified name."""
    prefix, slash, name = key.rpartition("/")
    if "/" in prefix:
        return [
            f"a valid label key {_NAME_MUST} with an optional DNS subdomain prefix and '/' "
            "(e.g. 'example.com/MyName')"
        ]
    faults = _prefix_faults(prefix) if slash else []
    if not name:
        faults.append("name part must be non-empty")
    elif len(name.encode()) > 63:
        faults.append("name part must be no more than 63 bytes")
    if not re.fullmatch(_NAME, name):
        faults.append(f"name part {_NAME_MUST}")
    return faults


def subdomain_faults(name: str) -> list[str]:
    """Say what keeps `name` from being an object's name: most are DNS subdomains."""
    faults = _length_faults(name, _LONGEST_SUBDOMAIN)
    if not re.fullmatch(_SUBDOMAIN, name):
        faults.append(_SUBDOMAIN_MUST)
    return faults


def dns_label_faults(name: str) -> list[str]:
    """Say what keeps `name` from being a DNS label, as a container's or a namespace's must be."""
    faults = _length_faults(name, _LONGEST_LABEL)
    if not re.fullmatch(_LABEL, name):
        dotted = re.fullmatch(_SUBDOMAIN, name)
        faults.append("must not contain dots" if dotted else _LABEL_MUST)
    return faults


def _length_faults(name: str, longest: int) -> list[str]:
    too_long = len(name.encode()) > longest
    return [f"must be no more than {longest} characters"] if too_long else []


def _prefix_faults(prefix: str) -> list[str]:
    if not prefix:
        return ["prefix part must be non-empty"]
    faults = []
    if len(prefix.encode()) > _LONGEST_SUBDOMAIN:
        faults.append(f"prefix part must be no more than {_LONGEST_SUBDOMAIN} bytes")
    if not re.fullmatch(_SUBDOMAIN, prefix):
        faults.append(f"prefix part {_SUBDOMAIN_MUST}")
    return faults


def label_value_faults(value: str) -> list[str]:
    """Say what keeps `value` from being the value of a label."""
    faults = []
    if len(value.encode()) > 63:
        faults.append("must be no more than 63 bytes")
    if not re.fullmatch(f"({_NAME})?", value):
        faults.append(_VALUE_MUST)
    return faults


__all__ = ["is_extended_resource", "label_key_faults", "label_value_faults"]

_REQUESTS_PREFIX: Final = "requests."


def is_extended_resource(name: str) -> bool:
    """Say whether a qualified name can be that of an extended resource."""
    is_native = "/" not in name or "kubernetes.io/" in name
    if is_native or name.startswith(_REQUESTS_PREFIX):
        return False
    return not label_key_faults(_REQUESTS_PREFIX + name)
