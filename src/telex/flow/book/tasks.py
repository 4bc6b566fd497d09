"""(To be written.)"""

from telex.flow.book.chapter import Chapter, Fold, nothing

CHAPTERS: dict[str, Chapter] = {
    "ask": Chapter(nothing, nothing),
    "answer": Chapter(nothing, nothing),
    "commit": Chapter(nothing, nothing),
    "assign": Chapter(nothing, nothing),
    "status": Chapter(nothing, nothing),
    "move": Chapter(nothing, nothing),
    "escalate": Chapter(nothing, nothing),
}
FOLDS: dict[str, Fold] = {"task": lambda state, said: state}
