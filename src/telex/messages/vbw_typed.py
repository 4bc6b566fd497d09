"""Builders for vbw-typed; the stub beside this file names every argument."""

from telex.dialects.builtin.vbw_typed import VBW_TYPED
from telex.messages.builders import builders_of

globals().update(builders_of(VBW_TYPED))
