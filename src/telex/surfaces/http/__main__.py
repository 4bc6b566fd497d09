"""Write the tables of the page on HTTP: `python -m telex.surfaces.http`, from the repository's root."""

from pathlib import Path

from telex.generate.__main__ import filled
from telex.surfaces.http.http_docs import PAGE, parts

if __name__ == "__main__":
    page = Path(PAGE)
    page.write_text(filled(page.read_text(encoding="utf-8"), parts()), encoding="utf-8")
