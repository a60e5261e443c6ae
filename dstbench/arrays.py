"""Types of NumPy arrays for annotations, named by what the arrays hold."""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Flags: TypeAlias = NDArray[np.bool_]
Hashes: TypeAlias = NDArray[np.uint64]
Integers: TypeAlias = NDArray[np.int64]  # positions and sums
Numbers: TypeAlias = NDArray[np.integer[Any]]  # whole numbers of any width
Floats: TypeAlias = NDArray[np.float64]
