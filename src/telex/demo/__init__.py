"""A story to watch: eight agents make one change on a real bus, and the rules of the work are seen to hold.

Every step goes through the verbs that everybody has; nothing is made up but the words. Only the waiting is shortened:
the story has a clock of its own (`environment.py`), by which its record is as true as any. `story.py` is what happens,
`agents.py` how the agents do it. How it looks is the surface's business.
"""
