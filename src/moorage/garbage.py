"""Garbage collection for a process whose objects mostly stay alive.

Objects in the cache live long. By default, Python's collector traverses all of them again and
again, for tens of milliseconds at a time, and finds no garbage.

The law: once everything has been listed, existing objects are frozen, that is, excluded from
collections for good, and young objects are collected seventy times less often. That is safe because
objects in the cache form no reference cycles: a replaced pod or node is freed as soon as nobody
refers to it, frozen or not. Cycles arise in later objects, in failing attempts and in errors, and
are collected as before. Code that lets the cache refer to itself breaks the law;
tests/unit/test_garbage.py notices. Objects that hold much memory must not be part of a cycle
either: the collector counts objects, not bytes, and a closed connection that waited for it held a
quarter of a megabyte.

Measured in `moorage run`, with 1,000 nodes and 2,000 pods bound: before, 160 collections took 220
to 260 ms in all and up to 95 ms at once. Now one takes 20 ms. The freezing itself takes 100 to 200
ms, once.

Pods come and go, and their memory is freed in fragments between objects that stay. The C library
keeps the fragments: after 40,000 pods at 200 per second, they were 13 of 172 MB. So free memory is
returned to the system now and then.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_YOUNG: Final = 50_000
"""Allocations between two collections of young objects; Python's own default is 700."""
_OLDER: Final = 50


def freeze() -> None:
    """Exclude existing objects from collections, and collect less often from now on."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _OLDER, _OLDER)


def give_back() -> bool:
    """Return free memory to the system; False if the C library cannot.

    It takes milliseconds, during which other threads run: call it in a separate thread.
    """
    import ctypes  # only needed here

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is None:
        return False
    trim(0)
    return True


@contextmanager
def importing() -> Iterator[None]:
    """Disable collections while modules are imported, and freeze what they leave: it stays.

    This saves a tenth of the import time of `moorage run`, and most of its first collection.
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
def collected_rarely() -> Iterator[None]:
    """Collect young objects as rarely for the length of the block, without freezing any.

    What a command imported stays frozen: a process that ends traverses all that is not.
    """
    threshold = gc.get_threshold()
    gc.set_threshold(_YOUNG, _OLDER, _OLDER)
    try:
        yield
    finally:
        gc.set_threshold(*threshold)


def leave_behind(*held: object) -> None:
    """Never free these objects: the process is about to end, which frees all memory at once.

    Freeing millions of objects one by one takes a tenth of the time of a large simulation.
    """
    import ctypes  # only needed here

    gc.freeze()
    for each in held:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))
