"""Wire format of the bus: JSON codec, schemas and the table of verbs. The HTTP and MCP surfaces are built from it."""

from telex.protocol.codec import CodecError as CodecError
from telex.protocol.codec import decoded as decoded
from telex.protocol.codec import encoded as encoded
from telex.protocol.codec import made as made
from telex.protocol.codec import plain as plain
