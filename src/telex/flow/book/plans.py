"""(To be written.)"""

from telex.flow.book.chapter import Chapter, Fold, nothing

CHAPTERS: dict[str, Chapter] = {
    "contract": Chapter(nothing, nothing),
    "progress": Chapter(nothing, nothing),
    "review": Chapter(nothing, nothing),
    "ask": Chapter(nothing, nothing),
    "answer": Chapter(nothing, nothing),
    "commit": Chapter(nothing, nothing),
    "signal": Chapter(nothing, nothing),
}
FOLDS: dict[str, Fold] = {"plan": lambda state, said: state, "contracts": lambda state, said: state}
