"""Translation of SQLite errors into the exceptions of `telex.errors`."""

import apsw

from telex.errors import OutcomeUnknown, StoreDamaged, StoreError, StoreFull, StoreUnavailable


def may_be_kept(error: apsw.Error, undone: bool) -> bool:
    """After a COMMIT that failed. With no room for it the last frame was not written, and without that there is no
    commit; but a failed sync leaves a whole one behind, which a later recovery may find and believe."""
    return not isinstance(error, apsw.FullError) and (not undone or isinstance(error, apsw.IOError))


def ours(error: apsw.Error, path: str, in_doubt: bool) -> StoreError:
    """What a driver's complaint means to whoever asked."""
    match error:
        case _ if in_doubt:
            return OutcomeUnknown(f"outcome unknown ({path}: {error}): send again with the same id.")
        case _ if isinstance(error, apsw.FullError) or getattr(error, "extendedresult", 0) == apsw.SQLITE_IOERR_SHMSIZE:
            return StoreFull(f"no room on the disk for {path}: nothing of this was stored; free some space.")
        case apsw.NotADBError():
            return StoreDamaged(f"{path} is not a Telex store: it is no database. Nothing was changed.")
        case apsw.CorruptError():
            return StoreDamaged(f"{path} is damaged ({error}): run telex doctor, and restore it from a copy.")
        case apsw.ConnectionClosedError() | apsw.CursorClosedError():
            return StoreUnavailable("this bus has been closed: open another one.")
        case apsw.BusyError() | apsw.LockedError():
            return StoreUnavailable(f"{path} is held by another program: try again when it has let go.")
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return StoreUnavailable(f"{path} may not be written: check its permissions and those of its folder.")
        case apsw.CantOpenError():
            return StoreUnavailable(f"cannot open {path}: check that its folder is there and may be written.")
        case apsw.IOError():
            return StoreUnavailable(f"the disk failed under {path} ({error}): nothing of this was stored.")
        case apsw.SQLError() if "no such table" in str(error):
            return StoreDamaged(f"{path} lacks a part of a Telex store ({error}): run telex doctor.")
        case _:
            raise error  # our own mistake: it must not be taken for the world's
