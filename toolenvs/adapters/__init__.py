"""Our environments in other frameworks: one file each, which imports its framework where it is used."""
