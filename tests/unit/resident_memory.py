"""How much of this process is in memory."""

import os
from pathlib import Path


def resident_bytes() -> int:
    """Bytes of this process that are in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
