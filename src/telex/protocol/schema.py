"""JSON schema of a value, from the same annotations as the codec."""

import types
from collections.abc import Mapping, Sequence
from typing import Any, Literal, Union, get_args, get_origin

from telex.protocol.codec import BASE64, DERIVED, HEX_FIELDS, is_value, type_hints

Schema = dict[str, Any]
REFERENCE = "#/components/schemas/{}"
_SIMPLE: dict[Any, Schema] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    type(None): {"type": "null"},
    bytes: {
        "anyOf": [
            {"type": "string"},
            {"type": "object", "properties": {BASE64: {"type": "string"}}, "required": [BASE64]},
        ]
    },
    Any: {},
    object: {},
}


class SchemaBuilder:
    """JSON schemas of many types, each named once."""

    def __init__(self) -> None:
        self.named: dict[str, Schema] = {}

    def of(self, kind: Any) -> Schema:
        if kind in _SIMPLE:
            return dict(_SIMPLE[kind])
        if is_value(kind):
            name = name_of(kind)
            if name not in self.named:
                self.named[name] = {}  # it may refer to itself
                self.named[name] = self._object(kind)
            return {"$ref": REFERENCE.format(name)}
        origin, inner = get_origin(kind), get_args(kind)
        if origin in (Union, types.UnionType):
            schemas = [self.of(part) for part in inner]
            simple = [schema["type"] for schema in schemas if set(schema) == {"type"}]
            if len(simple) == len(schemas):
                return {"type": simple}
            return {"anyOf": schemas}
        if origin is Literal:
            return {"enum": list(inner)}
        if origin in (dict, Mapping) or kind is dict:
            return {"type": "object", "additionalProperties": self.of(inner[1]) if inner else {}}
        if origin is tuple and inner and Ellipsis not in inner:
            items = [self.of(part) for part in inner]
            return {"type": "array", "prefixItems": items, "minItems": len(items), "maxItems": len(items)}
        assert origin in (tuple, list, Sequence, frozenset), f"{kind} has no schema"
        return {"type": "array", "items": self.of(inner[0])}

    def _object(self, kind: Any) -> Schema:
        hints = type_hints(kind)
        properties = {
            name: {"type": "string", "pattern": "^[0-9a-f]*$"} if name in HEX_FIELDS.get(kind, ()) else self.of(hint)
            for name, hint in hints.items()
        }
        properties |= {name: {"type": "string"} for name in DERIVED.get(kind, ())}
        schema: Schema = {"type": "object", "properties": properties, "required": list(properties)}
        if kind.__doc__ and not kind.__doc__.startswith(f"{kind.__name__}("):
            schema["description"] = " ".join(kind.__doc__.split())
        return schema


def name_of(kind: Any) -> str:
    """Classes of the work state may have the same name in two modules."""
    module = kind.__module__
    return f"{module.rpartition('.')[2]}.{kind.__name__}" if ".work." in module else str(kind.__name__)
