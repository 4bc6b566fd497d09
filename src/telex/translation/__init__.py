"""How does a reader of one dialect read a message of another? Acts that dialects share, and tables between them."""
