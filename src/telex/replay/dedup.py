"""Was a message of a foreign log sent before? As far as that is remembered: nobody keeps all ids of a log."""

from itertools import islice

IDS_MAX = 5_000  # at least so many ids are remembered


class ReplayDedup:
    def __init__(self) -> None:
        self._ids: dict[tuple[str, str], int] = {}
        self._most = 2 * IDS_MAX  # the older half is then forgotten

    def again(self, raw: bytes, agent: str, id_: str) -> bool | None:
        """Was this id used before? True: for the same bytes. None: never, as far as is remembered."""
        ids, words = self._ids, hash(raw)
        known = ids.setdefault((agent, id_), words)
        if known is not words:
            return known == words
        if len(ids) > self._most:
            self._ids = dict(islice(ids.items(), IDS_MAX, None))
        return None

    def forget(self, agent: str, id_: str | None) -> None:
        """What was refused has used up no id: it may be fixed and sent under the same."""
        if id_ is not None:
            self._ids.pop((agent, id_), None)
