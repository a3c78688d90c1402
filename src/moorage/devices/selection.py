"""Which devices the selectors of a class or a request choose.

A list of selectors is evaluated for a device once; the result is kept with the slice until it
changes. Errors are kept as well, and raised whenever the search reaches the device.
"""

from typing import TYPE_CHECKING, Any, Final

from moorage.api.resource_slices import DeviceAttribute
from moorage.devices.cel.library import CompileError
from moorage.devices.cel.values import (
    CelError,
    CostLimitError,
    DefaultMap,
    Semver,
    parse_quantity,
)
from moorage.devices.inventory import PoolDevice
from moorage.devices.work_budget import UNLIMITED, WorkBudget

if TYPE_CHECKING:
    from moorage.devices.cel.program import Program

_UNKNOWN: Final = 0
_MATCHES: Final = 1
_DIFFERS: Final = 2
_FAILS: Final = 3
MOST_KEPT: Final = 256
"""How many lists of selectors a slice, or a node, keeps results of."""
COMPILE_UNITS: Final = 10
"""What compiling pays for each letter."""
_HINT: Final = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check "
    "with has() for optional fields"
)

Selectors = tuple[str, ...]


class SelectionError(Exception):
    """A selector that does not compile, or cannot be evaluated for a device."""

    def __init__(self, position: int, problem: str, device: str = "") -> None:
        super().__init__(problem)
        self.position = position
        self.problem = problem
        self.device = device

    def told(self, owner: str) -> str:
        """The error in kube-scheduler's words; the owner is `class x` or `claim x`."""
        if not self.device:
            return f"{owner}: selector #{self.position}: CEL compile error: {self.problem}"
        where = f"selector #{self.position} on device {self.device}"
        return f"{owner}: {where}: CEL runtime error: {self.problem}"


def matches(selectors: Selectors, device: PoolDevice, budget: WorkBudget = UNLIMITED) -> bool:
    """Whether all selectors hold for a device; OverBudgetError where that is not found out."""
    if not selectors:
        return True
    entry = device.entry
    verdicts = entry.verdicts.get(selectors)
    if verdicts is None:
        if len(entry.verdicts) >= MOST_KEPT:
            entry.verdicts.clear()
            entry.errors.clear()
        verdicts = entry.verdicts[selectors] = bytearray(len(entry.devices))
    known = verdicts[device.index]
    if known == _UNKNOWN:
        known = verdicts[device.index] = _verdict(selectors, device, budget)
    if known == _FAILS:
        position, problem, at_run_time = entry.errors[selectors, device.index]
        raise SelectionError(position, problem, str(device.id) if at_run_time else "")
    return known == _MATCHES


def first_failing(selectors: Selectors, device: PoolDevice, budget: WorkBudget) -> int | None:
    """The position of the first selector that does not hold for a device; None where all do."""
    for position, expression in enumerate(selectors):
        try:
            if not matches((expression,), device, budget):
                return position
        except SelectionError:
            return position
    return None


def _verdict(selectors: Selectors, device: PoolDevice, budget: WorkBudget) -> int:
    for position, expression in enumerate(selectors):
        program = _PROGRAMS.get(expression) or _compile(expression, budget)
        try:
            if isinstance(program, CompileError):
                raise program
            if not program.matches(_variables(device), budget):
                return _DIFFERS
        except (CompileError, CelError, CostLimitError) as error:
            hint = _HINT if "no such key:" in str(error) else ""
            at_run_time = not isinstance(error, CompileError)
            device.entry.errors[selectors, device.index] = (
                position,
                str(error) + hint,
                at_run_time,
            )
            return _FAILS
    return _MATCHES


def _compile(expression: str, budget: WorkBudget) -> "Program | CompileError":
    from moorage.devices.cel.program import Program  # most clusters have no selector to run

    budget.spend(COMPILE_UNITS * len(expression))
    made: Program | CompileError
    try:
        made = Program(expression)
    except CompileError as error:
        made = error
    if len(_PROGRAMS) >= _MOST_PROGRAMS:
        del _PROGRAMS[next(iter(_PROGRAMS))]
    _PROGRAMS[expression] = made
    return made


_PROGRAMS: Final[dict[str, "Program | CompileError"]] = {}
"""The programs of the expressions that came last."""
_MOST_PROGRAMS: Final = 1024


def _variables(device: PoolDevice) -> dict[str, Any]:
    if device.variables is None:
        own = device.device
        device.variables = {
            "device": {
                "driver": device.id.driver,
                "allowMultipleAllocations": device.is_shared,
                "attributes": _by_domain(own.attributes, device.id.driver, _attribute),
                "capacity": _by_domain(
                    own.capacity, device.id.driver, lambda _, each: parse_quantity(each.value)
                ),
            }
        }
    return device.variables


def _by_domain(values: dict[str, Any], driver: str, read: Any) -> DefaultMap:
    domains = DefaultMap()
    for name, value in values.items():
        domain, slash, identifier = name.partition("/")
        if not slash:
            domain, identifier = driver, name
        domains.setdefault(domain, {})[identifier] = read(name, value)
    return domains


def _attribute(name: str, value: DeviceAttribute) -> Any:
    for plain in (value.ints, value.bools, value.strings):
        if plain is not None:
            return list(plain)
    try:
        if value.versions is not None:
            return [Semver(text) for text in value.versions]
        if value.version is not None and value.scalar == ("version", value.version):
            return Semver(value.version)
    except CelError as error:
        raise CelError(f"attribute {name}: parse semantic version: {error}") from None
    if value.scalar is None:
        raise CelError(f"attribute {name}: unsupported attribute value")
    return value.scalar[1]
