"""The role that agents read a PostgreSQL database as."""

import re

from toolenvs.errors import ConfigError

_NAME = re.compile(r"[a-z_][a-z0-9_]{0,62}")


def reader(role: str, database: str, *, schema: str = "public") -> list[str]:
    """The statements that make `role` one that may read the tables of `schema` and nothing else.

    A superuser runs them once, connected to `database`. They hold for tables that are there already.

    Raises:
        ConfigError: a name is not plain (lower case letters, digits, underscores).
    """
    for name in (role, database, schema):
        if _NAME.fullmatch(name) is None:
            raise ConfigError(f"reader(): {name!r} must be a plain name: lower case letters, digits, underscores")
    settings = {
        "default_transaction_read_only": "on",
        "statement_timeout": "'60s'",
        "idle_in_transaction_session_timeout": "'60s'",
        "client_connection_check_interval": "'1s'",  # a query whose reader has gone ends
        "work_mem": "'16MB'",
        "temp_file_limit": "'256MB'",
        "max_parallel_workers_per_gather": "0",
        "track_activities": "off",  # else others of the same role see the text of a query
    }
    return [
        f"CREATE ROLE {role} LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION",
        f"REVOKE ALL ON DATABASE {database} FROM PUBLIC",
        f"GRANT CONNECT ON DATABASE {database} TO {role}",
        f"REVOKE CREATE ON SCHEMA {schema} FROM PUBLIC",
        f"GRANT USAGE ON SCHEMA {schema} TO {role}",
        f"GRANT SELECT ON ALL TABLES IN SCHEMA {schema} TO {role}",
        *(f"ALTER ROLE {role} SET {name} = {value}" for name, value in settings.items()),
    ]
