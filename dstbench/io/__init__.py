"""Files and texts of any content: `files`, `archives`, `parquet`, their `limits`, `atomic` writes, `escape`."""
