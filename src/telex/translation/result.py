"""Values of a translation: its header, its result and its reported changes."""

from typing import Any, NamedTuple

from telex.dialects.schema import Dialect, MessageType, Tree

BY_THE_BUS = "as the bus has it"
NO_BUS = "generated here: no bus has stored it"


class MessageHeader(NamedTuple):
    """What is known of a message besides what it says itself: by the bus, or by whoever asks."""

    id: str
    at: float
    sender: str
    sender_role: str
    recipient: str | None = None  # an agent's name, or * for everybody
    recipient_role: str | None = None
    correlation: str | None = None
    reply_to: str | None = None
    kept: bool = True  # by a bus. False: there is none, and what the message does not say was made up for this

    @property
    def known(self) -> str:
        """Why a field says what the original does not."""
        return BY_THE_BUS if self.kept else NO_BUS


class FieldChange(NamedTuple):
    """One thing that is not as it was. `path` is in the original for what is lost or narrowed, and in the result for
    what is invented."""

    path: str
    slot: str | None  # what it means in every dialect, such as "commit"; with a $ for what the envelope says: "$id"
    value: Any  # lost: what it was; narrowed: what it was; invented: what it is now
    reason: str  # a clause with no capital letter and no full stop


class Translation(NamedTuple):
    dialect: Dialect
    type: MessageType
    tree: Tree
    body: str | None  # the markdown under the front matter; None where the form has none
    lost: tuple[FieldChange, ...] = ()
    invented: tuple[FieldChange, ...] = ()
    narrowed: tuple[FieldChange, ...] = ()
    carried: tuple[tuple[str, str], ...] = ()  # from where to where; narrowed ones too
    sender_role: str | None = None  # as whom the dialect sees the sender: a role of it that may send this type
    recipient_role: str | None = None


class NoCounterpart(NamedTuple):
    """There is no such message in that dialect; markdown serves any reader."""

    dialect: Dialect  # the one asked for
    reason: str  # a sentence
