"""Constructs plugins from their arguments; an exception of a constructor is an input error."""

from collections.abc import Iterator
from contextlib import contextmanager

from moorage.config.field_errors import ConfigError, InputError
from moorage.guard.breaker_events import error_place, error_text, is_plugins_own_exit
from moorage.guard.load_deadline import MAKE_SECONDS, LoadTimeout, load_deadline


@contextmanager
def plugin_construction() -> Iterator[None]:
    """Turns exceptions of constructors, and constructors that never end, into an InputError."""
    try:
        with load_deadline(MAKE_SECONDS):
            yield
    except (InputError, ConfigError):
        raise
    except LoadTimeout as error:
        raise InputError([_CANNOT.format(error)]) from error
    except BaseException as error:
        is_ours = not isinstance(error, Exception) and not is_plugins_own_exit(error)
        if is_ours or not error_place(error):
            raise
        raise InputError([_CANNOT.format(error_text(error))]) from error


_CANNOT = "a plugin cannot be made of its arguments: {}"
