"""PostgreSQL: a server that a role may only read, each query in a transaction that is rolled back."""
