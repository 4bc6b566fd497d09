"""What do the verbs of the bus look like on a wire? Every value as JSON and back, its schema, and the table of verbs.

Pure: no sockets here. The HTTP door, its client, the MCP door and the API document are all made from this room.
"""

from telex.wire.codec import Misfit as Misfit
from telex.wire.codec import made as made
from telex.wire.codec import plain as plain
from telex.wire.jsontext import decoded as decoded
from telex.wire.jsontext import encoded as encoded
