"""Message classes of release-train.toml. Type checkers read them from release_train.pyi."""

from pathlib import Path

from telex import messages

_classes = messages.load(Path(__file__).with_name("release-train.toml"))


def __getattr__(name: str) -> object:
    return getattr(_classes, name)
