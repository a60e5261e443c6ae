"""From rows of a long table to turn tables, sums and scores."""
