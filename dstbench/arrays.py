"""Types of NumPy arrays for annotations, named by what the arrays hold."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Flags: TypeAlias = NDArray[np.bool_]
Hashes: TypeAlias = NDArray[np.uint64]
Integers: TypeAlias = NDArray[np.int64]  # positions and sums
Floats: TypeAlias = NDArray[np.float64]
