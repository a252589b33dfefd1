"""DuckDB, embedded: a file that is only read, with everything outside it locked away."""
