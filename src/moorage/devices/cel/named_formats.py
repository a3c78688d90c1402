"""Kubernetes' named formats: what is wrong with a text, by `format.dns1123Label().validate(text)`.

Whether a text is valid is Kubernetes' rule; the words for what is wrong with it are ours.
"""

import re
from collections.abc import Callable
from datetime import date
from typing import Any, ClassVar, Final

from moorage.devices.cel.network import parses
from moorage.devices.cel.urls import parse_url
from moorage.devices.cel.values import NOTHING, Optional, no_overload

_LABEL: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN: Final = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
_DNS_1035: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_KEY: Final = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]")
_UUID: Final = re.compile(r"(?i)[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}")
_BASE64: Final = re.compile(
    r"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})"
)
_TIME: Final = re.compile(r"([0-9]{2}):([0-9]{2}):([0-9]{2})(.[0-9]+)?(z|[+-][0-9]{2}:[0-9]{2})")
_LABEL_LENGTH: Final = 63
_SUBDOMAIN_LENGTH: Final = 253


class NamedFormat:
    """One of the formats; `pattern_size` is what Kubernetes reckons its pattern's length to be."""

    __slots__ = ("is_valid", "name", "pattern_size")
    cel_type: ClassVar[str] = "kubernetes.NamedFormat"

    def __init__(self, name: str, pattern_size: int, is_valid: Callable[[str], bool]) -> None:
        self.name = name
        self.pattern_size = pattern_size
        self.is_valid = is_valid

    def validate(self, text: Any) -> Optional:
        """What is wrong; nothing where all is well."""
        if not isinstance(text, str):
            raise no_overload(text)
        return NOTHING if self.is_valid(text) else Optional([f"not a valid {self.name}"])


def _within(pattern: re.Pattern[str], longest: int) -> Callable[[str], bool]:
    return lambda text: len(text.encode()) <= longest and pattern.fullmatch(text) is not None


def _prefix(is_valid: Callable[[str], bool]) -> Callable[[str], bool]:
    """What a name is generated from may end in a dash."""
    return lambda text: is_valid(text[:-2] + "a" if len(text) > 1 and text[-1] == "-" else text)


def _is_qualified_name(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    return _is_key(name) and (not slash or _is_subdomain(prefix))


def _is_label_value(text: str) -> bool:
    return not text or _is_key(text)


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == len("2006-01-02")


def _is_datetime(text: str) -> bool:
    day, _, rest = text.lower().partition("t")
    found = _TIME.fullmatch(rest.partition("t")[0])
    in_range = found is not None and found[1] <= "23" and max(found[2], found[3]) <= "59"
    return in_range and _is_date(day)


_is_label = _within(_LABEL, _LABEL_LENGTH)
_is_subdomain = _within(_SUBDOMAIN, _SUBDOMAIN_LENGTH)
_is_1035 = _within(_DNS_1035, _LABEL_LENGTH)
_is_key = _within(_KEY, _LABEL_LENGTH)

FORMATS: Final = {
    name: NamedFormat(name, size, is_valid)
    for name, size, is_valid in (
        ("dns1123Label", 30, _is_label),
        ("dns1123Subdomain", 60, _is_subdomain),
        ("dns1035Label", 30, _is_1035),
        ("qualifiedName", 60, _is_qualified_name),
        ("dns1123LabelPrefix", 30, _prefix(_is_label)),
        ("dns1123SubdomainPrefix", 60, _prefix(_is_subdomain)),
        ("dns1035LabelPrefix", 30, _prefix(_is_1035)),
        ("labelValue", 40, _is_label_value),
        ("uri", 1103, lambda text: parses(parse_url, text)),
        ("uuid", 70, lambda text: _UUID.fullmatch(text) is not None),
        ("byte", 84, lambda text: _BASE64.fullmatch(text) is not None),
        ("date", 71, _is_date),
        ("datetime", 71, _is_datetime),
    )
}


def _named(name: Any) -> Optional:
    if not isinstance(name, str):
        raise no_overload(name)
    return Optional(FORMATS[name]) if name in FORMATS else NOTHING


def _validate(of: Any, text: Any) -> Optional:
    if not isinstance(of, NamedFormat):
        raise no_overload(of)
    return of.validate(text)


def _constant(made: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: made


FUNCTIONS: Final[dict[str, Callable[..., Any]]] = {
    "format.named": _named,
    "validate": _validate,
    **{f"format.{name}": _constant(made) for name, made in FORMATS.items()},
}
