"""Columns and types of every table, and what they mean."""
