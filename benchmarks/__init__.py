"""Scripts that measure dstbench; a package, so that no other installed `benchmarks` is imported instead."""
