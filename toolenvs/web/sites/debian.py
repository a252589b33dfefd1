"""Documentation as Debian and its relatives package it: real sites, recorded where they are used.

Nothing of them is shipped: a package is found on the machine, or fetched by apt from the mirror that the machine uses.
"""

import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from toolenvs.errors import ConfigError
from toolenvs.web.record import SiteWriter, from_folder

_TIMEOUT_S = 600
_DEPENDS = re.compile(r"^\s*\|?Depends: (\S+)$", re.M)


@dataclass(frozen=True, slots=True)
class Site:
    """A site that a package holds."""

    name: str
    package: str
    """That always exists; it may only name the one of the present version."""
    depends: str
    """A pattern of the package that holds the pages, where `package` does not."""
    root: str
    """A pattern of the folder of the pages, below the root of the file system."""
    index: str
    """The page to begin at, in that folder."""
    url: str
    """Where the same pages stand on the web; `{version}` is the part of `root` that a star stands for."""
    title: str
    licence: str
    left_out: tuple[str, ...] = ()
    """Names of files and folders that are no pages, and suffixes of such files."""


SITES = {
    site.name: site
    for site in (
        Site(
            name="python3-doc",
            package="python3-doc",
            depends=r"python3\.\d+-doc",
            root="usr/share/doc/python3.*/html",
            index="index.html",
            url="https://docs.python.org/3.{version}/",
            title="Python documentation",
            licence="PSF-2.0; examples 0BSD",
            left_out=("_sources", "searchindex.js", "objects.inv"),
        ),
        Site(
            name="postgresql-doc",
            package="postgresql-doc",
            depends=r"postgresql-doc-\d+",
            root="usr/share/doc/postgresql-doc-*/html",
            index="index.html",
            url="https://www.postgresql.org/docs/{version}/",
            title="PostgreSQL documentation",
            licence="PostgreSQL",
        ),
        Site(
            name="git-doc",
            package="git-doc",
            depends="",
            root="usr/share/doc/git-doc",
            index="git.html",
            url="https://www.kernel.org/pub/software/scm/git/docs/",
            title="Git documentation",
            licence="GPL-2.0",
            left_out=("RelNotes", ".txt"),
        ),
    )
}


def record_package(site: Site, path: Path, *, root: Path = Path("/")) -> None:
    """Write the file of a site.

    Args:
        site: which.
        path: the file.
        root: of the file system where the package may be installed.

    Raises:
        ConfigError: the package is not installed, and apt cannot give it; says what to do.
    """
    found = _pages_under(site, root)
    if found is not None:
        _record(site, found, path)
        return
    with tempfile.TemporaryDirectory(prefix="toolenvs-site-") as folder:
        _unpacked(site, Path(folder))
        found = _pages_under(site, Path(folder) / "root")
        if found is None:
            raise ConfigError(f"site {site.name!r}: the package holds no folder {site.root!r} with {site.index}")
        _record(site, found, path)


def _pages_under(site: Site, root: Path) -> Path | None:
    """The folder of the site's pages, of the highest version."""
    folders = [folder for folder in root.glob(site.root) if (folder / site.index).is_file() and not folder.is_symlink()]
    return max(folders, key=lambda folder: [int(number) for number in re.findall(r"\d+", str(folder))], default=None)


def _record(site: Site, pages: Path, path: Path) -> None:
    pattern = re.escape(site.root).replace(r"\*", "([^/]*)")
    starred = re.search(pattern + "$", str(pages))
    version = starred[1] if starred and starred.groups() else ""
    url = site.url.format(version=version)
    about = {"name": site.name, "title": site.title, "licence": site.licence, "source": f"package {site.package}"}
    with SiteWriter(path, home=url + site.index, **about) as writer:
        from_folder(writer, pages, url, keep=_keeper(site.left_out))
        if url not in writer:
            writer.add(url, b"", status=301, headers=[("location", url + site.index)])


def _keeper(left_out: tuple[str, ...]) -> Callable[[Path], bool]:
    return lambda path: not {*path.parts, path.suffix} & set(left_out)


def _unpacked(site: Site, folder: Path) -> None:
    """Download the package and unpack it into `folder`/root.

    Raises:
        ConfigError: it cannot be had.
    """
    for tool in ("apt-get", "apt-cache", "dpkg-deb"):
        if shutil.which(tool) is None:
            raise ConfigError(
                f"site {site.name!r} is made from the package {site.package} of Debian or Ubuntu, and there is no "
                f"{tool} here: unpack its pages and give their folder, `toolenvs site build --folder HTML --url "
                f"{site.url.format(version='VERSION')} OUT.site`"
            )
    package = site.package
    if site.depends:
        listed = _ran(site, ["apt-cache", "depends", package], folder)
        holders = [name for name in _DEPENDS.findall(listed) if re.fullmatch(site.depends, name)]
        if not holders:
            raise ConfigError(f"site {site.name!r}: apt knows no package behind {package}: run `apt-get update` first")
        package = holders[0]
    _ran(site, ["apt-get", "download", "--quiet", package], folder)
    for archive in folder.glob("*.deb"):
        _ran(site, ["dpkg-deb", "--extract", str(archive), str(folder / "root")], folder)


def _ran(site: Site, command: list[str], folder: Path) -> str:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=_TIMEOUT_S, check=True
        )
    except subprocess.CalledProcessError as error:
        told = " ".join((error.stderr or error.stdout or "").split())[-300:]
        raise ConfigError(
            f"site {site.name!r}: `{' '.join(command)}` failed ({told}): run `apt-get update`, or install the package"
        ) from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise ConfigError(f"site {site.name!r}: `{' '.join(command)}` did not end well: {error}") from error
    return done.stdout
