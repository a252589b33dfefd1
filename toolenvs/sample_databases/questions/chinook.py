"""Questions over Chinook, the shop of digital music."""

from calendar import month_name

from toolenvs.sample_databases.questions.base import Entry, FileBook
from toolenvs.tasks.seeding import Draws
from toolenvs.tasks.sql import Drawn, Figure, Link, Noun, Word
from toolenvs.tasks.sql.templates import (
    ONE_TABLE,
    compared,
    distinct,
    figure_of,
    group,
    group_mean,
    linked,
    linked_most,
    two_links,
)
from toolenvs.tasks.sql.wording import SMALL, count_of, literal

_YEARS = (2007, 2008, 2009, 2010, 2011)


def _genre(book: FileBook, draws: Draws) -> tuple[str, str]:
    name = draws.choice(book.values("Genre", "Name"))
    return str(name), literal(name)


def no_composer(book: FileBook, draws: Draws) -> Drawn:
    """Tracks whose composer is not known."""
    clause, condition = compared(book, draws, figure_of(book, draws, "Track"))
    return Drawn(
        f"How many tracks that {clause} have no composer?",
        f"SELECT count(*) FROM Track WHERE {condition} AND Composer IS NULL",
    )


def invoices_in(book: FileBook, draws: Draws) -> Drawn:
    """Invoices of one month."""
    year, month = draws.choice(_YEARS), draws.between(1, 12)
    dated = f"dated in {month_name[month]} {year}"
    text, column = draws.choice(
        (
            (f"How many invoices are {dated}?", "count(*)"),
            (f"What is the sum of the totals of the invoices that are {dated}? Round to 2 decimals.",
             "round(sum(Total), 2)"),
        )
    )  # fmt: skip
    return Drawn(text, f"SELECT {column} FROM Invoice WHERE strftime('%Y-%m', InvoiceDate) = '{year}-{month:02}'")


def months(book: FileBook, draws: Draws) -> Drawn:
    """For each month of a year, the invoices to a country or of an amount."""
    year = draws.choice(_YEARS)
    clause, condition = compared(book, draws, figure_of(book, draws, "Invoice"))
    return Drawn(
        f"For each month of {year}, how many invoices {clause}? Give the month as two digits and the number, without "
        "months of number 0, ordered by month.",
        f"SELECT strftime('%m', InvoiceDate), count(*) FROM Invoice WHERE strftime('%Y', InvoiceDate) = '{year}' "
        f"AND {condition} GROUP BY 1 ORDER BY strftime('%m', InvoiceDate)",
    )


def best_customers(book: FileBook, draws: Draws) -> Drawn:
    """Who spent the most in a year."""
    k, year = draws.below(3), draws.choice(_YEARS)
    which = "Which customer has" if k == 0 else f"Which {SMALL[k - 1]} customers have"
    more = "" if k == 0 else ", the highest sum first"
    return Drawn(
        f"{which} spent the most on invoices of {year}? Give last name and sum, rounded to 2 decimals{more}.",
        f"SELECT c.LastName, round(sum(i.Total), 2) FROM Invoice AS i JOIN Customer AS c ON i.CustomerId = "
        f"c.CustomerId WHERE strftime('%Y', i.InvoiceDate) = '{year}' GROUP BY c.CustomerId "
        f"ORDER BY sum(i.Total) DESC LIMIT {k + 1}",
    )


def never_sold(book: FileBook, draws: Draws) -> Drawn:
    """Tracks of a genre that are on no invoice, or on no album's playlist."""
    shown, genre = _genre(book, draws)
    said, table = draws.choice((("have never been sold", "InvoiceLine"), ("are on no playlist", "PlaylistTrack")))
    clause, condition = compared(book, draws, figure_of(book, draws, "Track"))
    return Drawn(
        f"How many tracks that belong to the genre {shown} and {clause} {said}?",
        f"SELECT count(*) FROM Track AS t JOIN Genre AS g ON t.GenreId = g.GenreId WHERE g.Name = {genre} "
        f"AND t.{condition} AND NOT EXISTS (SELECT 1 FROM {table} AS x WHERE x.TrackId = t.TrackId)",
    )


def before_the_boss(book: FileBook, draws: Draws) -> Drawn:
    """Employees and those that they report to."""
    word, column = draws.choice((("born", "BirthDate"), ("hired", "HireDate")))
    later, operator = draws.choice((("earlier", "<"), ("later", ">")))
    return Drawn(
        f"Which employees were {word} {later} than the one that they report to? Give their last names.",
        f"SELECT a.LastName FROM Employee AS a JOIN Employee AS b ON a.ReportsTo = b.EmployeeId "
        f"WHERE a.{column} {operator} b.{column}",
    )


def genre_sales(book: FileBook, draws: Draws) -> Drawn:
    """What sold best, by genre or by artist."""
    k, year = draws.between(1, 4), draws.choice(_YEARS)
    many, select, tables = draws.choice(
        (
            ("genres", "g.Name", "JOIN Genre AS g ON t.GenreId = g.GenreId"),
            (
                "artists",
                "g.Name",
                "JOIN Album AS b ON t.AlbumId = b.AlbumId JOIN Artist AS g ON b.ArtistId = g.ArtistId",
            ),
        )
    )
    key = "g.GenreId" if many == "genres" else "g.ArtistId"
    return Drawn(
        f"Of which {SMALL[k - 1]} {many} were the most tracks sold on invoices of {year}? Give name and number, the "
        "highest number first.",
        f"SELECT {select}, sum(l.Quantity) FROM InvoiceLine AS l JOIN Invoice AS i ON l.InvoiceId = i.InvoiceId "
        f"JOIN Track AS t ON l.TrackId = t.TrackId {tables} WHERE strftime('%Y', i.InvoiceDate) = '{year}' "
        f"GROUP BY {key} ORDER BY sum(l.Quantity) DESC LIMIT {k + 1}",
    )


def never_bought(book: FileBook, draws: Draws) -> Drawn:
    """Customers that have no track of a genre on any invoice."""
    shown, genre = _genre(book, draws)
    country = draws.choice(book.found("SELECT Country FROM Customer GROUP BY 1 HAVING count(*) >= 4 ORDER BY 1"))
    of, condition = draws.choice((("", ""), (f" that live in {country}", f" AND c.Country = {literal(country)}")))
    return Drawn(
        f"How many customers{of} have never bought a track of the genre {shown}?",
        "SELECT count(*) FROM Customer AS c WHERE NOT EXISTS (SELECT 1 FROM Invoice AS i JOIN InvoiceLine AS l ON "
        "i.InvoiceId = l.InvoiceId JOIN Track AS t ON l.TrackId = t.TrackId JOIN Genre AS g ON t.GenreId = g.GenreId "
        f"WHERE i.CustomerId = c.CustomerId AND g.Name = {genre}){condition}",
    )


def on_playlist(book: FileBook, draws: Draws) -> Drawn:
    """Tracks of a genre on a playlist: many to many."""
    shown, genre = _genre(book, draws)
    playlist = book.named(draws, "Playlist")
    return Drawn(
        f'How many tracks that belong to the genre {shown} are on the playlist "{playlist}"?',
        "SELECT count(*) FROM PlaylistTrack AS x JOIN Playlist AS p ON x.PlaylistId = p.PlaylistId JOIN Track AS t ON "
        f"x.TrackId = t.TrackId JOIN Genre AS g ON t.GenreId = g.GenreId WHERE p.Name = {literal(playlist)} "
        f"AND g.Name = {genre}",
    )


def playlists_with(book: FileBook, draws: Draws) -> Drawn:
    """Playlists that hold tracks of an artist."""
    artist, n = book.named(draws, "Artist"), draws.between(1, 12)
    return Drawn(
        f"How many playlists hold at least {count_of(n, 'track', 'tracks')} from albums by {artist}?",
        "SELECT count(*) FROM (SELECT x.PlaylistId FROM PlaylistTrack AS x JOIN Track AS t ON x.TrackId = t.TrackId "
        "JOIN Album AS b ON t.AlbumId = b.AlbumId JOIN Artist AS a ON b.ArtistId = a.ArtistId WHERE a.Name = "
        f"{literal(artist)} GROUP BY x.PlaylistId HAVING count(*) >= {n})",
    )


def on_both(book: FileBook, draws: Draws) -> Drawn:
    """Tracks that two playlists share: one table twice."""
    one, other = draws.sample(book.found("SELECT Name FROM Playlist GROUP BY Name HAVING count(*) = 1 ORDER BY 1"), 2)
    return Drawn(
        f'How many tracks are both on the playlist "{one}" and on the playlist "{other}"?',
        "SELECT count(*) FROM PlaylistTrack AS x JOIN PlaylistTrack AS y ON x.TrackId = y.TrackId JOIN Playlist AS p "
        "ON x.PlaylistId = p.PlaylistId JOIN Playlist AS q ON y.PlaylistId = q.PlaylistId WHERE "
        f"p.Name = {literal(one)} AND q.Name = {literal(other)}",
    )


ENTRY = Entry(
    nouns={
        "Artist": Noun("artist", "artists", "ArtistId", "Name"),
        "Album": Noun("album", "albums", "AlbumId", "Title", "title", quoted=True),
        "Track": Noun("track", "tracks", "TrackId", "Name", quoted=True),
        "Genre": Noun("genre", "genres", "GenreId", "Name"),
        "MediaType": Noun("media type", "media types", "MediaTypeId", "Name"),
        "Invoice": Noun("invoice", "invoices", "InvoiceId", "InvoiceId", "number"),
        "Customer": Noun("customer", "customers", "CustomerId", "LastName", "last name"),
        "Employee": Noun("employee", "employees", "EmployeeId", "LastName", "last name"),
        "Playlist": Noun("playlist", "playlists", "PlaylistId", "Name", quoted=True),
    },
    figures=(
        Figure("Track", "Milliseconds", "last {cmp} milliseconds", "length in milliseconds", "amount",
               ("greatest", "smallest")),
        Figure("Track", "Bytes", "take up {cmp} bytes", "size in bytes"),
        Figure("Invoice", "Total", "come to {cmp} dollars", "total", "measure", ("highest", "lowest")),
    ),
    words=(
        Word("Customer", "Country", "live in {w}", "country that customers live in", "country"),
        Word("Invoice", "BillingCountry", "are billed to {w}", "billing country", "country"),
        Word("Invoice", "BillingCity", "are billed to the city of {w}", "billing city", "city"),
    ),
    links=(
        Link("Album", "ArtistId", "Artist", "are by {x}", "that made {s}"),
        Link("Track", "AlbumId", "Album", "are on {x}", "that hold {s}", "that holds {s}"),
        Link("Track", "GenreId", "Genre", "belong to the genre {x}", "that {s} belong to", "that {s} belongs to"),
        Link("Invoice", "CustomerId", "Customer", "were sent to {x}", "that {s} were sent to", "that {s} was sent to"),
        Link("Customer", "SupportRepId", "Employee", "are looked after by {x}", "that look after {s}",
             "that looks after {s}"),
        Link("Employee", "ReportsTo", "Employee", "report to {x}", "that {s} report to", "that {s} reports to"),
    ),
    thresholds={
        ("Track", "Milliseconds"): (100_000, 150_000, 200_000, 300_000, 400_000, 600_000, 1_000_000, 2_500_000),
        ("Track", "Bytes"): (2_000_000, 4_000_000, 6_000_000, 10_000_000, 20_000_000, 250_000_000, 500_000_000),
        ("Invoice", "Total"): (2, 3, 5, 8, 10, 13, 15),
    },
    levels=(
        (*ONE_TABLE, no_composer, invoices_in, months),
        (linked, group, linked_most, group_mean, distinct, best_customers, never_sold, before_the_boss),
        (two_links, genre_sales, never_bought, on_playlist, playlists_with, on_both),
    ),
)  # fmt: skip
