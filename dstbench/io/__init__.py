"""Files and texts of any content: `files`, `archives` and their `limits`, `atomic` writes, `escape` for safe output."""
