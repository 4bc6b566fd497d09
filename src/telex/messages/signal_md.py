"""Builders for signal-md; the stub beside this file names every argument."""

from telex.dialects.builtin.signal_md import SIGNAL_MD
from telex.messages.builders import builders_of

globals().update(builders_of(SIGNAL_MD))
