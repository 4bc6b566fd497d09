"""Message classes of signal-md 1.0. Their signatures are in the stub."""

from telex.messages.classes import built_in_classes

globals().update(built_in_classes(__name__))
