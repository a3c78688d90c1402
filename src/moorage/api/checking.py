"""Check the quantities inside decoded objects, and say where a bad one is."""

import types
from collections.abc import Callable
from functools import cache
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec

from moorage.api import quantity
from moorage.api.cleaning import is_quantity
from moorage.api.quantity import QuantityError

CheckText = Callable[[str], object]
Check = Callable[[Any, CheckText], None]


class MisplacedQuantityError(ValueError):
    """A bad quantity, and the path to it from the outside in."""

    def __init__(self, problem: str, path: str = "") -> None:
        super().__init__(problem)
        self.problem = problem
        self.path = path

    def inside(self, place: str) -> "MisplacedQuantityError":
        """Return the error as seen from one step further out."""
        joint = "." if self.path and not self.path.startswith("[") else ""
        return MisplacedQuantityError(self.problem, f"{place}{joint}{self.path}")


def check_quantities(obj: msgspec.Struct, strict: bool) -> None:
    """Raise MisplacedQuantityError for the first bad quantity; strictly, for negative ones too."""
    check = checker(type(obj))
    if check is not None:
        check(obj, _nonnegative if strict else quantity.parse)


@cache
def checker(annotation: Any) -> Check | None:
    """Return the function that checks values of the annotated type; None if none can be bad."""
    origin, args = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _check_text if is_quantity(annotation) else checker(args[0])
    if origin in (Union, types.UnionType):
        return checker(next(arg for arg in args if arg is not type(None)))
    if origin is tuple:
        return _list_checker(checker(args[0]))
    if origin is dict:
        return _check_map if is_quantity(args[1]) else None
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        return _struct_checker(annotation)
    return None


def _nonnegative(text: str) -> None:
    if quantity.parse(text).amount < 0:
        raise QuantityError(f"{text!r} must not be negative")


def _check_text(text: str, check_text: CheckText) -> None:
    try:
        check_text(text)
    except QuantityError as error:
        raise MisplacedQuantityError(str(error)) from None


def _check_map(texts: dict[str, str], check_text: CheckText) -> None:
    for name, text in texts.items():
        try:
            check_text(text)
        except QuantityError as error:
            raise MisplacedQuantityError(str(error), name) from None


def _list_checker(check: Check | None) -> Check | None:
    if check is None:
        return None

    def check_list(values: tuple[Any, ...], check_text: CheckText) -> None:
        for index, value in enumerate(values):
            try:
                check(value, check_text)
            except MisplacedQuantityError as error:
                raise error.inside(f"[{index}]") from None

    return check_list


def _struct_checker(struct: type[msgspec.Struct]) -> Check | None:
    """Check the fields that hold quantities, passing over the absent and the empty."""
    fields = ((f, checker(f.type)) for f in msgspec.structs.fields(struct))
    plan = tuple((f.name, f.encode_name, check) for f, check in fields if check is not None)

    def check_struct(obj: msgspec.Struct, check_text: CheckText) -> None:
        for attribute, name, check in plan:
            try:
                value = getattr(obj, attribute)
                if value or value == "":
                    check(value, check_text)
            except MisplacedQuantityError as error:
                raise error.inside(name) from None

    return check_struct if plan else None
