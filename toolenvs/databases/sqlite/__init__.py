"""SQLite, embedded: a file that is never written, a budget of steps, and no other statement than a query."""
