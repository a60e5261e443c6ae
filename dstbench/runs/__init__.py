"""Runs: long tables in memory or in Parquet, from states or from files.

- `open` makes a `run` of whatever the user has, and writes it as one long table; `run`: also its Parquet file
- `align` puts gold beside predictions; `rules`: what a long table must be; `gold`: gold's slots and fingerprints
"""
