"""(To be written.)"""

from telex.flow.book.chapter import Chapter, Fold, nothing

CHAPTERS: dict[str, Chapter] = {
    "signal": Chapter(nothing, nothing),
    "dispatch": Chapter(nothing, nothing),
}
FOLDS: dict[str, Fold] = {"work": lambda state, said: state}
