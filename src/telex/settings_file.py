"""Location of telex.toml. Apart from `config`, which a cold `telex check` without such a file need not import."""

import os

FILE = "telex.toml"
VARIABLE = "TELEX_CONFIG"  # names the file, wherever it is


def find(folder: str) -> str | None:
    """The file whose settings hold in this folder."""
    named = os.environ.get(VARIABLE)
    if named:
        return os.path.abspath(named)
    folder = os.path.abspath(folder)
    while True:
        path = os.path.join(folder, FILE)
        if os.path.isfile(path):
            return path
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above
