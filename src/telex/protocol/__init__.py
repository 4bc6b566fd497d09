"""What do the verbs of the bus look like on a wire? Every value as JSON and back, its schema, and the table of verbs.

Pure: no sockets here. The HTTP door, its client, the MCP door and the API document are all made from this room.
"""

from telex.protocol.codec import CodecError as CodecError
from telex.protocol.codec import made as made
from telex.protocol.codec import plain as plain
from telex.protocol.json_text import decoded as decoded
from telex.protocol.json_text import encoded as encoded
