"""A dataset rewritten in its own format, with edits."""
