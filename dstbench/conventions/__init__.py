"""What names and values mean: slots, normalisers, matchers, conventions and the named ones (profiles)."""
