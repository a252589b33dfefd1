"""Stage 2, rewriting: one file for each way to turn a source into a recording."""
