"""Registry of the built-in dialects and their versions."""

from collections.abc import Iterable

from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.dialects.builtin.signal_md import SIGNAL_MD, SIGNAL_MD_1_1
from telex.dialects.builtin.vbw import VBW_COMPANY, VBW_HANDOFF
from telex.dialects.builtin.vbw_typed import VBW_TYPED, VBW_TYPED_2_1
from telex.dialects.schema import Dialect
from telex.model.roster import AT

# In the order of detection, which breaks ties: full envelopes, then flat messages; the default version first.
BUILT_IN: tuple[Dialect, ...] = (VBW_TYPED, VBW_TYPED_2_1, BUILD_FLOW, VBW_HANDOFF, VBW_COMPANY, SIGNAL_MD)

# Versions that are used only where they are named.
OTHER_VERSIONS: tuple[Dialect, ...] = (SIGNAL_MD_1_1,)
VERSIONS = BUILT_IN + OTHER_VERSIONS

# Several dialects under one name: `vbw@1.0` is the one with that version.
FAMILIES: dict[str, tuple[str, ...]] = {"vbw": (VBW_TYPED.name, VBW_TYPED_2_1.name, VBW_HANDOFF.name)}

PLAIN = Dialect(
    name="plain", version="1.0", purpose="Text without a type: stored and delivered as markdown.", form="text",
    roles=(), types={},
)  # fmt: skip


def by_name(name: str, dialects: tuple[Dialect, ...] = VERSIONS) -> Dialect | None:
    """The dialect of that name, in its default version or in the one after an @."""
    known = (*dialects, PLAIN)
    exact = (dialect for dialect in known if dialect.name == name)
    versions = (dialect for dialect in known if f"{dialect.base}{AT}{dialect.version}" == name)
    return next(exact, None) or next(versions, None)


def versions_of(dialect: Dialect, dialects: Iterable[Dialect]) -> tuple[Dialect, ...]:
    """All versions of a dialect named in its default version; otherwise the named version only."""
    versions = tuple(other for other in dialects if dialect.name == dialect.base == other.base)
    return versions if dialect in versions else (dialect,)


def one_of_each(dialects: Iterable[Dialect]) -> list[Dialect]:
    """The first version of each dialect."""
    first: dict[str, Dialect] = {}
    for dialect in dialects:
        first.setdefault(dialect.base, dialect)
    return list(first.values())
