"""Builders for vbw-handoff; the stub beside this file names every argument."""

from telex.dialects.builtin.vbw_handoff import VBW_HANDOFF
from telex.messages.builders import builders_of

globals().update(builders_of(VBW_HANDOFF))
