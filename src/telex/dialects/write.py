"""How a message stands on the wire: JSON, or front matter over a markdown body."""

import json
from typing import Any

from telex.dialects.schema import BODY_KEY, Dialect, Tree


def write(dialect: Dialect, tree: Tree, body: str | None = None) -> str:
    """The message as text, ready to send, with a line end."""
    if dialect.form == "front-matter":
        from telex.dialects.front_matter_writer import write_front_matter

        fields = {name: value for name, value in tree.items() if name != BODY_KEY}
        return write_front_matter(fields, body or tree.get(BODY_KEY, ""))
    return write_json(tree) + "\n"


def write_json(tree: Any) -> str:
    return json.dumps(tree, indent=2, ensure_ascii=False)
