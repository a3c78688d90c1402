"""Which functions selectors may call beside CEL's standard library, and of which types.

One line for each overload: its name, the types of its arguments, and the type of its result. A
method's first argument is what it is called on. Capital letters stand for any type.
"""

from collections.abc import Iterator
from itertools import permutations
from typing import Any, Final

Declaration = dict[str, Any]

TYPES: Final = {
    "quantity": "kubernetes.Quantity",
    "version": "kubernetes.Semver",
    "url": "kubernetes.URL",
    "named_format": "kubernetes.NamedFormat",
    "ip": "net.IP",
    "cidr": "net.CIDR",
    "optional": "optional_type",
}
ORDERED: Final = ("int", "uint", "double", "bool", "duration", "timestamp", "string", "bytes")
SUMMABLE: Final = ("int", "uint", "double", "duration")
NUMBERS: Final = ("int", "uint", "double")
COMPARISONS: Final = ("_<_", "_<=_", "_>_", "_>=_")
TO_STRING: Final = (*ORDERED, "ip", "cidr")
NAMED_FORMATS: Final = (
    *("dns1123Label", "dns1123Subdomain", "dns1035Label", "qualifiedName", "labelValue"),
    *("dns1123LabelPrefix", "dns1123SubdomainPrefix", "dns1035LabelPrefix"),
    *("uri", "uuid", "byte", "date", "datetime"),
)

_FUNCTIONS: Final = """
    quantity            string -> quantity
    isQuantity          string -> bool
    sign                quantity -> int
    semver              string -> version
    semver              string bool -> version
    isSemver            string -> bool
    isSemver            string bool -> bool
    sets.contains       list(T) list(T) -> bool
    sets.equivalent     list(T) list(T) -> bool
    sets.intersects     list(T) list(T) -> bool
    strings.quote       string -> string
    url                 string -> url
    isURL               string -> bool
    ip                  string -> ip
    isIP                string -> bool
    ip.isCanonical      string -> bool
    cidr                string -> cidr
    isCIDR              string -> bool
    format.named        string -> optional(named_format)
    optional.unwrap     list(optional(T)) -> list(T)
"""
_METHODS: Final = """
    isGreaterThan       quantity quantity -> bool
    isLessThan          quantity quantity -> bool
    compareTo           quantity quantity -> int
    asApproximateFloat  quantity -> double
    asInteger           quantity -> int
    isInteger           quantity -> bool
    add                 quantity quantity -> quantity
    add                 quantity int -> quantity
    sub                 quantity quantity -> quantity
    sub                 quantity int -> quantity
    isGreaterThan       version version -> bool
    isLessThan          version version -> bool
    compareTo           version version -> int
    major               version -> int
    minor               version -> int
    patch               version -> int
    includes            dyn dyn -> bool
    indexOf             list(T) T -> int
    lastIndexOf         list(T) T -> int
    indexOf             string string -> int
    indexOf             string string int -> int
    lastIndexOf         string string -> int
    lastIndexOf         string string int -> int
    charAt              string int -> string
    lowerAscii          string -> string
    upperAscii          string -> string
    trim                string -> string
    substring           string int -> string
    substring           string int int -> string
    replace             string string string -> string
    replace             string string string int -> string
    split               string string -> list(string)
    split               string string int -> list(string)
    join                list(string) -> string
    join                list(string) string -> string
    format              string list(dyn) -> string
    find                string string -> string
    findAll             string string -> list(string)
    findAll             string string int -> list(string)
    getScheme           url -> string
    getHost             url -> string
    getHostname         url -> string
    getPort             url -> string
    getEscapedPath      url -> string
    getQuery            url -> map(string,list(string))
    family              ip -> int
    isUnspecified       ip -> bool
    isLoopback          ip -> bool
    isLinkLocalMulticast  ip -> bool
    isLinkLocalUnicast  ip -> bool
    isGlobalUnicast     ip -> bool
    containsIP          cidr string -> bool
    containsIP          cidr ip -> bool
    containsCIDR        cidr string -> bool
    containsCIDR        cidr cidr -> bool
    ip                  cidr -> ip
    prefixLength        cidr -> int
    masked              cidr -> cidr
    unwrapOpt           list(optional(T)) -> list(T)
    validate            named_format string -> optional(list(string))
"""


DECLARED_ANEW: Final = ("string", *COMPARISONS)
"""Of the standard library's: Kubernetes compares numbers of two kinds, and prints addresses."""


def declarations() -> list[Declaration]:
    """All of them, as the library's configuration has them."""
    by_name: dict[str, list[Declaration]] = {}
    for name, signature, is_method in _signatures():
        overloads = by_name.setdefault(name, [])
        identity = f"{name.replace('.', '_')}_{len(overloads)}"
        overloads.append({"id": identity, **_overload(signature, is_method)})
    return [{"name": name, "overloads": overloads} for name, overloads in by_name.items()]


def _signatures() -> Iterator[tuple[str, str, bool]]:
    for table, is_method in ((_FUNCTIONS, False), (_METHODS, True)):
        for line in table.strip().splitlines():
            name, _, signature = line.strip().partition(" ")
            yield name, signature, is_method
    for name in NAMED_FORMATS:
        yield f"format.{name}", "-> named_format", False
    for comparison in COMPARISONS:
        for left, right in (*zip(ORDERED, ORDERED, strict=True), *permutations(NUMBERS, 2)):
            yield comparison, f"{left} {right} -> bool", False
    for kind in TO_STRING:
        yield "string", f"{kind} -> string", False
    for kind in ORDERED:
        yield "isSorted", f"list({kind}) -> bool", True
        yield "min", f"list({kind}) -> {kind}", True
        yield "max", f"list({kind}) -> {kind}", True
    for kind in SUMMABLE:
        yield "sum", f"list({kind}) -> {kind}", True


def _overload(signature: str, is_method: bool) -> Declaration:
    left, _, result = signature.partition("->")
    args = [_type(word) for word in left.split()]
    made: Declaration = {"return": _type(result.strip())}
    if is_method:
        made["target"], *args = args
    if args:
        made["args"] = args
    return made


def _type(text: str) -> Declaration:
    name, _, inside = text.partition("(")
    if not inside:
        return {"type_name": name, "is_type_param": True} if name == "T" else _named(name)
    params = [_type(each) for each in inside.removesuffix(")").split(",", 1)]
    return {**_named(name), "params": params}


def _named(name: str) -> Declaration:
    return {"type_name": TYPES.get(name, name)}
