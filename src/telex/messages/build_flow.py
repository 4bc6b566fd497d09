"""Builders for build-flow; the stub beside this file names every argument."""

from telex.dialects.builtin.build_flow import BUILD_FLOW
from telex.messages.builders import builders_of

globals().update(builders_of(BUILD_FLOW))
