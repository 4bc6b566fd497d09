"""Which of the things asked about a task wait, and which were approved? Known without looking through all of them."""

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Self

from telex.model.ordered_index import OrderedIndex

if TYPE_CHECKING:
    from telex.work.tasks import TaskRequest

_ANSWER = attrgetter("answer")


class RequestIndex(OrderedIndex["TaskRequest"]):
    """In the order of asking, whatever was answered first. Nothing that was answered waits again."""

    __slots__ = ("_answers", "_approved", "_waiting")
    _waiting: dict[str, None]  # ids of requests
    _approved: dict[str, None]  # the same, in the order of the answers
    _answers: dict[str, None]  # ids of the answers that have approved something

    def __new__(cls, *_: object) -> Self:
        asks = super().__new__(cls)
        asks._waiting, asks._approved, asks._answers = {}, {}, {}
        return asks

    @property
    def only_one_waiting(self) -> str | None:
        """The one that is meant where none is named."""
        return next(iter(self._waiting)) if len(self._waiting) == 1 else None

    @property
    def first_waiting(self) -> str | None:
        return next(iter(self._waiting), None)

    def waiting(self) -> list[str]:
        return list(self._waiting)

    def has_approved(self, name: str) -> bool:
        """Is it the id of something that was approved, or of the answer that did so?"""
        return name in self._answers or name in self._approved

    def approvals(self) -> dict[str, str]:
        """The answers' ids, in the order of asking, by every id under which an approval may be named."""
        place_of = self._places.__getitem__
        ids = sorted(self._approved, key=place_of)
        answers = list(map(_ANSWER, map(self._all.__getitem__, map(place_of, ids))))
        return dict(zip(answers, answers, strict=True)) | dict(zip(ids, answers, strict=True))

    def _note(self, request: "TaskRequest") -> None:
        if request.waits:
            self._waiting[request.id] = None
            return
        self._waiting.pop(request.id, None)
        if request.is_approved:
            self._approved[request.id] = self._answers[request.answer] = None

    def _copy(self) -> Self:
        asks = super()._copy()
        asks._waiting, asks._approved, asks._answers = (
            self._waiting.copy(),
            self._approved.copy(),
            self._answers.copy(),
        )
        return asks


NO_ASKS = RequestIndex()


def request_index(requests: "Sequence[TaskRequest]") -> RequestIndex:
    """What came over a wire, or out of an old file, is only a list of them."""
    return requests if type(requests) is RequestIndex else RequestIndex(requests)
