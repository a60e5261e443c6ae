"""Where the repository's folders are."""

from pathlib import Path

#: The top of the repository.
ROOT = Path(__file__).resolve().parent.parent
