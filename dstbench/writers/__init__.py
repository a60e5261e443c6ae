"""Datasets written again in their own formats."""
