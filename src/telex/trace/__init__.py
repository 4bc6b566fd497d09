"""A conversation as a picture: `steps` reads it once; `tree`, `sequence`, `mermaid` and `svg` draw what it read."""
