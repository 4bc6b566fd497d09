"""HTTP client of a hub with the methods of a local bus; a blocking transport serves programs without an event loop."""
