"""Bytes: files, archives, limits, texts that are safe to print. It knows no dialogue."""
