"""(To be written.)"""

from telex.flow.book.chapter import Chapter, Fold, nothing

CHAPTERS: dict[str, Chapter] = {
    "escalate": Chapter(nothing, nothing),
}
FOLDS: dict[str, Fold] = {"escalation": lambda state, said: state}
