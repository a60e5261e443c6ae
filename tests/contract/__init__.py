"""The contract: what people type and read, through the command line and public names only."""
