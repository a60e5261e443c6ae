"""The long table: rows in memory or in Parquet, from states or from files."""
