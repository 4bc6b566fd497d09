"""Builders for vbw-company; the stub beside this file names every argument."""

from telex.dialects.builtin.vbw_company import VBW_COMPANY
from telex.messages.builders import builders_of

globals().update(builders_of(VBW_COMPANY))
