"""Wire format of the bus's methods: JSON codec, schemas and the table of verbs.

No sockets here. The HTTP server, its client, the MCP server and the OpenAPI document are generated from this package.
"""

from telex.protocol.codec import CodecError as CodecError
from telex.protocol.codec import decoded as decoded
from telex.protocol.codec import encoded as encoded
from telex.protocol.codec import made as made
from telex.protocol.codec import plain as plain
