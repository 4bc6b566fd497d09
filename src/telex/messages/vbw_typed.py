"""Builders for vbw-typed; the stub beside this file names every argument."""

from telex.dialects.vbw_typed import VBW_TYPED
from telex.messages.making import builders_of

globals().update(builders_of(VBW_TYPED))
