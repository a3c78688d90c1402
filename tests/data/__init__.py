"""Data of others that tests read; each folder's README.md names its source and its licence."""

from pathlib import Path
from typing import Final

DATA: Final = Path(__file__).parent
