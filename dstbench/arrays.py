"""Types of NumPy arrays for annotations, named by what the arrays hold."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

#: True or false per row.
Flags: TypeAlias = NDArray[np.bool_]

#: Hashes.
Hashes: TypeAlias = NDArray[np.uint64]

#: Positions and sums.
Integers: TypeAlias = NDArray[np.int64]

#: Whole numbers of any width.
Numbers: TypeAlias = NDArray[np.integer[Any]]

#: Real numbers.
Floats: TypeAlias = NDArray[np.float64]
