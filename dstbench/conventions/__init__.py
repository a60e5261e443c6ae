"""What slot names and values mean: slots, normalisers, matchers, conventions, and named conventions (profiles)."""
