"""Judges of correctness, one file each; a page names one in `[judge]`."""
