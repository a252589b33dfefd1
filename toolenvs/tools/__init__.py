"""Tools, one file each; a page names them in `[tools]`."""
