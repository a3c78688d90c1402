"""cel-expr-python, which wraps Google's C++ implementation; it comes with the extra `dra`."""

from functools import cache
from typing import Any, Final

NOT_INSTALLED: Final = "CEL is not installed: pip install 'moorage[dra]'"


class CompileError(Exception):
    """An expression that is no valid selector."""


@cache
def library() -> Any:
    """The module; CompileError where it is not installed."""
    try:
        from cel_expr_python import cel
    except ImportError:
        raise CompileError(NOT_INSTALLED) from None
    return cel
