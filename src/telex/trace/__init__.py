"""Diagrams of a conversation: `steps` parses its events once; `diagrams` and `svg` render the steps."""
