"""A simple account of how signals route a work, to hold the machine against. It shares no code with it."""

import re
from collections import Counter
from typing import Any


class Account:
    """The rules in the plainest words: what has been sent, what is waited for, and what is held up."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.open: dict[str, str] = {}  # dispatch → what answers it
        self.held: dict[str, str] = {}
        self.left: Counter[str] = Counter()  # questions unanswered, steps of the wave not yet approved
        self.verdicts: dict[str, list[str]] = {}
        self.waves: list[int] = []
        self.wave = self.odd = 0
        self.ask("W", "triage")

    def ask(self, id_: str, part: str) -> None:
        self.sent.append(id_)
        self.open[id_] = part

    def hear(self, id_: str, part: str, signal: str, **says: Any) -> None:
        if self.open.get(id_) != part:
            self.odd += 1
            return
        del self.open[id_]
        if signal in ("blocked", "escalate"):
            for check in ("review", "audit"):
                self.open.pop(f"{id_.removesuffix('.' + part)}.{check}", None)
            self.hold(base_of(id_), "blocked" if signal == "blocked" else "escalated")
        elif part == "triage":
            self.left["questions"] = says["questions"]
            for number in range(1, says["questions"] + 1):
                self.ask(f"W.research.{number}", "research")
            if not says["questions"]:
                self.ask("W.plan", "plan")
        elif part == "research":
            self.left["questions"] -= 1
            if not self.left["questions"]:
                self.ask("W.plan", "plan")
        elif part == "plan":
            self.hear_plan(id_, **says)
        elif part == "step":
            self.verdicts[id_] = []
            self.ask(f"{id_}.review", "review")
            self.ask(f"{id_}.audit", "audit")
        else:
            self.hear_verdict(id_.removesuffix(f".{part}"), signal)

    def hear_plan(self, id_: str, has_blockers: bool, waves: int) -> None:
        if has_blockers:
            self.hold(id_, "escalated")
        elif waves:
            self.waves = [2, 1][:waves] if waves == 2 else [1]
            self.next_wave()

    def next_wave(self) -> None:
        self.wave += 1
        self.left["steps"] = self.waves[self.wave - 1]
        for number in range(1, self.left["steps"] + 1):
            self.ask(f"W.w{self.wave}.s{number}.i0", "step")

    def hear_verdict(self, tried: str, signal: str) -> None:
        self.verdicts[tried].append(signal)
        if len(self.verdicts[tried]) < 2:
            return
        base, _, iteration = tried.rpartition(".i")
        if "fail" not in self.verdicts[tried]:
            self.sent.append(f"{first_round(base)}.lgtm")
            self.left["steps"] -= 1
            if not self.left["steps"] and self.wave < len(self.waves):
                self.next_wave()
        elif int(iteration) < 5:
            self.ask(f"{base}.i{int(iteration) + 1}", "step")
        else:
            self.hold(base, "escalated")

    def hold(self, place: str, how: str) -> None:
        self.held[place] = how
        self.sent.append(f"{place}.{how}")

    def resume(self, base: str) -> str:
        """What is held up goes on in its next round. Its name within the work."""
        del self.held[base]
        place = first_round(base)
        round_ = int(base.removeprefix(place).removeprefix(".r") or 0) + 1
        name = place.removeprefix("W").removeprefix(".") or "triage"
        is_step = name.startswith("w")
        self.ask(f"{place}.r{round_}" + (".i0" if is_step else ""), "step" if is_step else name.partition(".")[0])
        return name

    @property
    def ending(self) -> str | None:
        """What it has come to; None while it goes on."""
        for how in ("escalated", "blocked"):
            if how in self.held.values():
                return how
        return None if self.open else "done"


def base_of(id_: str) -> str:
    """The place in its round: without iteration and check."""
    return re.sub(r"(\.i\d+)?(\.(review|audit))?$", "", id_)


def first_round(base: str) -> str:
    return re.sub(r"\.r\d+$", "", base)
