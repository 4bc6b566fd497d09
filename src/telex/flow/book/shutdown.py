"""(To be written.)"""

from telex.flow.book.chapter import Chapter, Fold, nothing

CHAPTERS: dict[str, Chapter] = {
    "stop": Chapter(nothing, nothing),
    "stopped": Chapter(nothing, nothing),
}
FOLDS: dict[str, Fold] = {"shutdown": lambda state, said: state}
