"""One name in the forms that files, modules, classes and packages want."""

import keyword
import re
from typing import NamedTuple

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z0-9]+|[A-Z]+")


class Names(NamedTuple):
    """`TenantZones`, `tenant_zones`, `tenant-zones`."""

    cls: str
    module: str
    package: str

    @classmethod
    def of(cls, given: str) -> "Names":
        """The forms of a name given in any of them; ValueError where it makes no class name."""
        words = _WORD.findall(given)
        made = given if given.isidentifier() and given[0].isupper() else ""
        made = made or "".join(word[:1].upper() + word[1:] for word in words)
        if not made.isidentifier() or keyword.iskeyword(made):
            raise ValueError(f"{given!r} makes no name of a class: try TenantZones or tenant-zones")
        lower = [word.lower() for word in words]
        return cls(made, "_".join(lower), "-".join(lower))
