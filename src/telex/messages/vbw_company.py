"""Builders for vbw-company; the stub beside this file names every argument."""

from telex.dialects.vbw_company import VBW_COMPANY
from telex.messages.making import builders_of

globals().update(builders_of(VBW_COMPANY))
