"""Garbage collection for a process whose objects mostly stay.

Whatever the cache believes lives long. Left alone, Python's collector looks through all of it again
and again, for tens of milliseconds at a time, and finds nothing.

The law: once everything has been listed, what is there is left out of collections for good, and
young objects are looked at seventy times less often. That is safe because what is believed holds no
circles: a pod or node that is replaced is freed the moment nobody refers to it, frozen or not.
Circles arise in what is made later, in attempts that fail and in errors, and are collected as
before. Whoever lets the cache refer to itself breaks the law; tests/unit/test_garbage.py notices.
Nor may what holds much memory be part of a circle: collections count objects and not bytes, and a
closed connection that waited for one held a quarter of a megabyte.

Measured in `moorage run`, 1,000 nodes and 2,000 pods bound: 160 collections, 220 to 260 ms in all
and up to 95 ms at once become one of 20 ms; the freezing itself takes 100 to 200 ms, once.

Pods come and go, and their memory is freed in pieces between what stays. The C library keeps the
pieces: after 40,000 pods at 200 per second 13 of 172 MB were such. So what is free is given back
now and then.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_YOUNG: Final = 50_000
"""Allocations between two looks at young objects; Python's own default is 700."""
_OLDER: Final = 50


def freeze() -> None:
    """Leave what is there now out of collections, and collect less often from here on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _OLDER, _OLDER)


def give_back() -> bool:
    """Give free memory back to the system; False where the C library has no way to.

    It takes milliseconds, during which others run; for a thread of its own.
    """
    import ctypes  # of no use to anybody else

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:
        return False
    trim(0)
    return True


@contextmanager
def importing() -> Iterator[None]:
    """No collections while modules are imported: they stay, and are left out of all that follow.

    A tenth of the time that `moorage run` takes to import, and most of its first collection.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


@contextmanager
def frozen() -> Iterator[None]:
    """The same for a while: what a command reads and builds stays until it is done."""
    threshold = gc.get_threshold()
    freeze()
    try:
        yield
    finally:
        gc.unfreeze()
        gc.set_threshold(*threshold)


@contextmanager
def collected_rarely() -> Iterator[None]:
    """For a while, look at young objects as rarely as that, and leave nothing out."""
    threshold = gc.get_threshold()
    gc.set_threshold(_YOUNG, _OLDER, _OLDER)
    try:
        yield
    finally:
        gc.set_threshold(*threshold)


def leave_behind(*held: object) -> None:
    """Never free these: the process is about to end, which does it at once.

    To take millions of objects apart one by one costs a tenth of what a large simulation takes.
    """
    import ctypes  # of no use to anybody else

    gc.freeze()
    for each in held:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))
