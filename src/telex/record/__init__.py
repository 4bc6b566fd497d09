"""The record: what was said and what became of it, as log lines and as a file that another Telex can read."""
