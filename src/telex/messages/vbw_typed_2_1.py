"""Builders for vbw-typed 2.1; the stub beside this file names every argument."""

from telex.dialects.builtin.vbw_typed import VBW_TYPED_2_1
from telex.messages.builders import builders_of

globals().update(builders_of(VBW_TYPED_2_1))
