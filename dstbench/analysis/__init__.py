"""What is asked of runs beside their scores: one module per public function, of the same name."""
