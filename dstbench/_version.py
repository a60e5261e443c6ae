"""The version, once."""

from importlib.metadata import version

VERSION = version("dstbench")
