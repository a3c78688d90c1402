"""Sweeps on a Dask cluster: a `concurrent.futures` executor on a Dask scheduler that is running.

Workers need the same version of Moorage, and one thread each. When a worker dies, Dask repeats its
task on another worker; the results are the same.
"""

from collections.abc import Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Final

from moorage.config.field_errors import InputError

PREFIX: Final = "dask://"
CONNECT_SECONDS: Final = 10.0


@contextmanager
def dask_executor(address: str) -> Iterator[Executor]:
    """The workers of the scheduler at `dask://HOST:PORT`."""
    if not address.startswith(PREFIX) or ":" not in address.removeprefix(PREFIX):
        raise InputError([f"--on {address}: write dask://HOST:PORT, where a Dask scheduler is"])
    try:
        from distributed import Client
    except ImportError:
        message = f"--on {address}: needs Dask: pip install 'moorage[dask]'"
        raise InputError([message]) from None
    target = f"tcp://{address.removeprefix(PREFIX)}"
    try:
        client = Client(target, timeout=CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TimeoutError) as error:
        raise InputError([f"--on {address}: no Dask scheduler answers there: {error}"]) from None
    with client:
        if not client.scheduler_info()["workers"]:
            raise InputError([f"--on {address}: the scheduler has no workers"])
        executor: Executor = client.get_executor(pure=False, retries=3)
        yield executor
