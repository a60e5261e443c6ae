"""Runs: long tables in memory or in Parquet, from states or from files.

- `open` makes a `run` of whatever the user has, and writes it as one long table
- `align` puts gold beside predictions, `spread` lays out the rows; `rules`: what a long table must be
- `parquet`: files of long tables; `gold`: gold's slots and fingerprints
"""
