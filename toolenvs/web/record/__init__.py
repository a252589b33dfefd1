"""Make recorded sites: from a folder, a WARC file, or what a browser loads.

with SiteWriter("mine.site", home="https://example.org/") as site:
    from_folder(site, "html/", "https://example.org/")
"""

from toolenvs.web.record.folder import from_folder
from toolenvs.web.record.traffic import Recorder
from toolenvs.web.record.warc import from_warc
from toolenvs.web.record.writer import SiteWriter

__all__ = ["Recorder", "SiteWriter", "from_folder", "from_warc"]
