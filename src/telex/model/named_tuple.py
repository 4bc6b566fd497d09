"""NamedTuple with a cheap class statement, for commands that start a process for each message.

A class made by `typing.NamedTuple` costs about 0.1 ms, most of it for compiling its constructor, and a cold `telex
send` defines about a hundred of them: a third of its CPU time. Here the constructor is compiled when the first instance
is made. Type checkers see `typing.NamedTuple`.
"""

TYPE_CHECKING = False  # type checkers take it as true; importing typing costs a cold command 3 ms

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from _collections import _tuplegetter

    class _NamedTupleType(type):
        def __new__(cls, name, bases, namespace):
            if bases[0] is not tuple and not hasattr(bases[0], "_fields"):
                fields = tuple(namespace.get("__annotations__", ()))
                namespace["_field_defaults"] = {field: namespace[field] for field in fields if field in namespace}
                namespace["_fields"] = namespace["__match_args__"] = fields
                namespace["__slots__"] = ()
                namespace.update((field, _tuplegetter(place, None)) for place, field in enumerate(fields))
            return super().__new__(cls, name, bases, namespace)

    class NamedTuple(tuple, metaclass=_NamedTupleType):
        __slots__ = ()

        def __new__(cls, *values, **named):
            cls.__new__ = _constructor(cls)
            return cls.__new__(cls, *values, **named)

        @classmethod
        def _make(cls, values):
            made = tuple.__new__(cls, values)
            if len(made) != len(cls._fields):
                raise TypeError(f"Expected {len(cls._fields)} arguments, got {len(made)}")
            return made

        def _replace(self, /, **changes):
            made = self._make(map(changes.pop, self._fields, self))
            if changes:
                raise ValueError(f"Got unexpected field names: {list(changes)!r}")
            return made

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def __repr__(self):
            values = ", ".join(f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({values})"

        def __getnewargs__(self):
            return tuple(self)

    def _constructor(cls):
        fields = ", ".join(cls._fields)
        scope = {"__builtins__": {}, "__name__": f"namedtuple_{cls.__name__}", "_new": tuple.__new__}
        source = f"lambda _cls, {fields}: _new(_cls, ({fields}{',' if fields else ''}))"
        # Compiled first: an interrupt inside an evaluated text would end Python by SIGINT, though `main` handles it.
        made = eval(compile(source, "<fields>", "eval"), scope)
        made.__name__ = "__new__"
        made.__qualname__ = f"{cls.__qualname__}.__new__"
        made.__defaults__ = tuple(cls._field_defaults.values())
        return made
