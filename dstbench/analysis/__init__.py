"""Analyses of runs: one module per public function, of the same name, and modules that several of them use."""
