"""(To be written.)"""

from telex.flow.book.chapter import Chapter, Fold, nothing

CHAPTERS: dict[str, Chapter] = {
    "ask": Chapter(nothing, nothing),
    "answer": Chapter(nothing, nothing),
}
FOLDS: dict[str, Fold] = {"approval": lambda state, said: state}
