"""``python -m dstbench``."""

from dstbench.cli import main

main()
