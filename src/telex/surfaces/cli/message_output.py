"""Output of a whole message that can be sent as it is and is safe on a terminal."""

from telex.dialects.schema import Dialect, Tree
from telex.dialects.write import write
from telex.surfaces.cli.check_output import json_line, visible_json
from telex.surfaces.cli.output import shown_block


def wire_text(
    dialect: Dialect, tree: Tree, body: str | None = None, *, compact: bool = False, visible: bool = True
) -> str:
    """The message as it stands on the wire, JSON on one line when `compact`.

    JSON is always safe to look at: what cannot be seen is escaped and means the same. A markdown body knows no such
    escapes, so front matter is either safe to look at (`visible`) or faithful.
    """
    if dialect.form == "json":
        return json_line(tree) + "\n" if compact else visible_json(write(dialect, tree))
    text = write(dialect, tree, body)
    return shown_block(text) if visible else text
