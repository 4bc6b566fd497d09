"""Which part of the book is in memory? What somebody has in hand; the rest is put away, and comes back when asked for.

A long log has ever more topics, of which a team has few in hand at a time. So when there are many, half of them are put
away in one go, those that came first and that nobody has written to lately. What is one for the whole team stays, but
for the plans in the list of contracts. Where much comes back again, more is in hand than was thought: then twice as
much stays in memory, until it becomes less again.
"""

from collections.abc import Iterator, Mapping
from itertools import chain, islice
from math import inf
from typing import Any

from telex.model.contracts import ContractIndex
from telex.replay.spill_port import SpillPort
from telex.work.plan_lookup import CONTRACTS, topic_of
from telex.work.reducer import kind_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from telex.replay.plan_cache import PlanCache

TOPICS_MAX = 300  # in memory, of a team that has few in hand
TOPIC_BYTES = 500  # what it takes to put a topic away and to bring it back, as if it were so much longer
CALM = 0.9  # so much of what was in memory is still there the next time, when little has come back
_ELSEWHERE = object()
_PLAN = topic_of("")


class StateCache(Mapping[str, Any]):
    """The whole book, to be read. What somebody has asked for is in memory from then on."""

    def __init__(self, book: dict[str, Any], away: SpillPort) -> None:
        self._book, self._away = book, away
        self.topics_max: float = TOPICS_MAX
        self._topics_min = TOPICS_MAX
        self.is_used = False
        self._back = 0  # what has come back since something was last put away, by its weight

    # --- reading -----------------------------------------------------------------------------------------------------

    def get(self, topic: str, default: Any = None) -> Any:
        found = self._book.get(topic, _ELSEWHERE)
        if found is not _ELSEWHERE:
            return found
        return self._book[topic] if self._brought_back(topic) else default

    def __getitem__(self, topic: str) -> Any:
        if topic not in self._book and not self._brought_back(topic):
            raise KeyError(topic)
        return self._book[topic]

    def __contains__(self, topic: object) -> bool:
        return topic in self._book or (isinstance(topic, str) and self._brought_back(topic))

    def __iter__(self) -> Iterator[str]:
        return iter(self.in_memory())

    def __len__(self) -> int:
        return len(self.in_memory())

    def _brought_back(self, topic: str) -> bool:
        """Is it there? Then it is in memory now."""
        data = self._away.get(topic)
        if data is None:
            return False
        from telex.replay.state_codec import unpacked

        self._book[topic] = unpacked(kind_of(topic), data)
        self._back += TOPIC_BYTES + len(data)
        return True

    def in_memory(self) -> dict[str, Any]:
        """All of it, beside what is kept."""
        from telex.replay.state_codec import unpacked

        away = {topic: data for topic, data in self._away.items() if not topic.startswith(CONTRACTS)}
        found = {topic: unpacked(kind_of(topic), data) for topic, data in away.items()} | self._book
        if CONTRACTS in found:
            contracts: ContractIndex = found[CONTRACTS]
            found[CONTRACTS] = ContractIndex(dict(contracts.plans.items()), contracts.asks)
        return found

    # --- putting away ------------------------------------------------------------------------------------------------

    def put_away(self, in_hand: set[str]) -> None:
        """The older half, as far as it is not in hand."""
        book = self._book
        goes = list(islice((topic for topic in book if ":" in topic and topic not in in_hand), len(book) // 2))
        plans, leaving = self._plans(), [topic.removeprefix(_PLAN) for topic in goes if topic.startswith(_PLAN)]
        gone: dict[str, int] = {}
        things = self._packed(goes, gone)
        if not self._away.put(things if plans is None else chain(things, plans.leaving(leaving))):
            self.topics_max = inf  # then all of it stays in memory, as far as that goes
            return
        for topic in gone:
            del book[topic]
        if plans is not None:
            plans.leave(leaving)
        self.is_used = True
        is_more_in_hand = 4 * len(gone) < self.topics_max or 2 * self._back > sum(gone.values())
        self.topics_max = 2 * self.topics_max if is_more_in_hand else max(CALM * self.topics_max, self._topics_min)
        self._back = 0

    def _packed(self, topics: list[str], gone: dict[str, int]) -> Iterator[tuple[str, bytes]]:
        """They, one at a time: all at once would take up the memory that is to be saved. `gone` is what each weighs."""
        from telex.replay.state_codec import packed

        for topic in topics:
            try:
                data = packed(self._book[topic])
            except ValueError:
                continue  # it stays
            gone[topic] = TOPIC_BYTES + len(data)
            yield topic, data

    def _plans(self) -> "PlanCache | None":
        contracts: ContractIndex | None = self._book.get(CONTRACTS)
        if contracts is None:
            return None
        from telex.replay.plan_cache import PlanCache

        plans = contracts.plans
        if not isinstance(plans, PlanCache):
            plans = PlanCache(plans, self._away)
            self._book[CONTRACTS] = ContractIndex(plans, contracts.asks)
        return plans
