"""Files that a command makes: whole or not at all, for their owner, and through nobody's link."""

import os
import stat
import tempfile
from pathlib import Path


def write_private(name: str | Path, content: bytes) -> None:
    """Write a file that only its owner may read; it takes the place of what had its name.

    In a folder that others may write, a name that is known beforehand may be a link that they have
    put there. So a file of a random name is made first, and then renamed; a link is not followed.
    Pipes and devices (`/dev/stdout`) are written to. Raises an OSError.
    """
    file = Path(name)
    if _is_stream(file):
        file.write_bytes(content)
        return
    made, partial = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with open(made, "wb") as target:
            target.write(content)
        os.replace(partial, file)
    except BaseException:
        os.unlink(partial)
        raise


def _is_stream(file: Path) -> bool:
    """Whether it is a pipe or a device, or names one by a link that the system made."""
    if file.absolute().is_relative_to("/dev"):
        return True
    try:
        mode = file.lstat().st_mode
    except FileNotFoundError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISCHR(mode)
