"""What input may cost, each limit a variable of the environment: an archive or a table may be a trap.

They are meant to be far above what any real file needs; what is above one is refused in a message that names it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from dstbench.errors import UsageError


@dataclass(frozen=True)
class Limit:
    """A limit.

    Attributes:
        variable: The variable that sets it.
        default: What holds without it.
    """

    variable: str
    default: int

    @property
    def value(self) -> int:
        """What holds.

        Raises:
            UsageError: The variable is set to something else than a number above 0.
        """
        text = os.environ.get(self.variable, str(self.default))
        if not (text.isascii() and text.isdecimal() and int(text)):
            raise UsageError(f"{self.variable}={text!r} is no number above 0", hint=f"unset it for {self.default}")
        return int(text)

    @property
    def hint(self) -> str:
        """What to do where it is in the way."""
        return f"such a file may be a trap; if it is not, set {self.variable} to more than {self.value}"


#: MB that a packed file, or all files of an archive together, may be when unpacked.
UNPACKED: Final = Limit("DSTBENCH_MAX_UNPACKED", 4096)
#: Times its packed size that a file may have when unpacked, beyond 64 MB.
RATIO: Final = Limit("DSTBENCH_MAX_RATIO", 200)
#: Rows of the long table for each turn and slot that a file lists, beyond `FREE`.
SPREAD: Final = Limit("DSTBENCH_MAX_SPREAD", 50)
#: Turn numbers from dialogues' first to last turns for each row, beyond `FREE`.
NUMBERS: Final = Limit("DSTBENCH_MAX_NUMBERS", 50)
#: All of them.
LIMITS: Final = (UNPACKED, RATIO, SPREAD, NUMBERS)
#: Rows, or numbers, that are looked at only beyond so many.
FREE: Final = 10_000_000
