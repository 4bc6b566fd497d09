"""Every number in the house, with its unit and where it comes from. A deployment may change any of them."""

from typing import NamedTuple


class Limits(NamedTuple):
    message_bytes_max: int = 1_048_576  # 1 MiB; larger things belong in a file that the message names
    front_matter_bytes_max: int = 65_536  # fields are short; what is long belongs in the body
    depth_max: int = 64  # levels of nesting; no dialect needs more than six
    integer_min: int = -(2**63)
    integer_max: int = 2**63 - 1  # what JSON readers in other languages can hold
    id_characters_max: int = 128
    found_characters_max: int = 60  # how much of a wrong value a finding repeats
    findings_max: int = 200  # enough to mend anything real; a hostile message gets no megabyte answer


LIMITS = Limits()
