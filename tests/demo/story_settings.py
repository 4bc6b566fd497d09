"""How often does a property tell a whole story on a real store? Less often than one that checks a message does: each
is worth many, and takes as long. The long run tries them all the same."""

from hypothesis import settings

FEWER = settings(max_examples=max(settings().max_examples // 2, 15))
