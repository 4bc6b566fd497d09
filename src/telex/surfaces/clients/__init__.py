"""Coding tools as clients of Telex: their hooks, sessions and installation."""
