"""Types of NumPy arrays, by what they hold; for annotations only, and imported under ``TYPE_CHECKING`` alone."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: Whether something is so, of each row.
Flags: TypeAlias = NDArray[np.bool_]

#: Codes of strings in Polars's dictionary, `runs.codes.ABSENT` for null.
Codes: TypeAlias = NDArray[np.uint32]

#: Hashes and keys: unsigned numbers of 64 bits.
Hashes: TypeAlias = NDArray[np.uint64]

#: Positions and sums: signed numbers of 64 bits.
Integers: TypeAlias = NDArray[np.int64]

#: Whole numbers of any width.
Numbers: TypeAlias = NDArray[np.integer[Any]]

#: Real numbers.
Floats: TypeAlias = NDArray[np.float64]
