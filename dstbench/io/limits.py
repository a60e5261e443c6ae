"""Limits on the size of input, because an archive or a table may be made to exhaust memory.

Environment variables set them. The defaults are far above what any real file needs. Input beyond a limit is refused,
with a message that names the limit.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final, NamedTuple, TypeAlias

from dstbench.errors import DstbenchError, UsageError

#: Makes the error about a file: what is wrong with it, and a hint.
Fail: TypeAlias = Callable[[str, str], DstbenchError]
MB: Final = 10**6


class Limit(NamedTuple):
    """A limit: the environment variable that sets it, its default, and the largest value that is allowed."""

    variable: str
    default: int
    most: int = 10**18

    @property
    def value(self) -> int:
        """The limit that applies."""
        text = os.environ.get(self.variable, str(self.default))
        if not (text.isascii() and text.isdecimal() and 0 < int(text[:20]) <= self.most):
            what = f"{self.variable}={text!r} is not a whole number from 1 to {self.most}"
            raise UsageError(what, hint="unset it for what is usual")
        return int(text)

    @property
    def hint(self) -> str:
        """The hint of errors about this limit."""
        more = f"if it is not, set {self.variable} to more than {self.value}"
        return f"such a file may be made to exhaust memory or time; {more}"


#: Megabytes of a packed file, or of all files of an archive together, when unpacked.
UNPACKED: Final = Limit("DSTBENCH_MAX_UNPACKED", 4096)
#: Unpacked size of a file, divided by its packed size, beyond 64 MB.
RATIO: Final = Limit("DSTBENCH_MAX_RATIO", 200)
#: Rows of the long table for each turn and slot that a file lists, beyond `FREE`.
SPREAD: Final = Limit("DSTBENCH_MAX_SPREAD", 50)
#: Characters of a gold value times those of a prediction that are compared fuzzily; otherwise, their alternatives.
COMPARED: Final = Limit("DSTBENCH_MAX_COMPARED", 250_000)
#: Unpacked bytes beyond which the ratio is limited: small files with many equal keys may shrink to a hundredth.
FREE_BYTES: Final = 64_000_000
#: Seconds that a query may take.
SECONDS: Final = Limit("DSTBENCH_MAX_QUERY_SECONDS", 600)
#: Megabytes that memory may grow by during a query.
MEMORY: Final = Limit("DSTBENCH_MAX_QUERY_MEMORY", 8192)
#: Threads of Polars, which would start any number.
THREADS: Final = Limit("POLARS_MAX_THREADS", 1, most=1024)
#: Number of rows that is never refused.
FREE: Final = 10_000_000


def check_unpacked(size: float, fail: Fail, how: str = "when unpacked") -> None:
    """Refuse so many bytes in memory."""
    if size > UNPACKED.value * MB:
        raise fail(f"more than {UNPACKED.value:,} MB {how}", UNPACKED.hint)


def check_ratio(size: int, packed: int, fail: Fail) -> None:
    """Refuse so many bytes of a file of `packed` bytes."""
    if size > max(FREE_BYTES, RATIO.value * packed):
        raise fail(f"more than {RATIO.value} times its packed size when unpacked", RATIO.hint)


def memory() -> int:
    """The megabytes that this process has in memory; 0 where the system does not say, as any but Linux."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") // 10**6
    except OSError:
        return 0
