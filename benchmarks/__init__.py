"""Scripts that measure dstbench; a package, as another distribution may bring one of this name."""
