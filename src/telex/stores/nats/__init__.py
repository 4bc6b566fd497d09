"""Replicated store: hubs that share the log of a team on NATS JetStream.

Every hub has the whole team in a SQLite file of its own. A write is one SQLite transaction whose row changes are
published to the team's stream, with the condition that nothing else is there since the position they were made on; the
transaction commits when the stream has them. A hub whose condition fails rolls back, applies what came before, and
decides again. Hubs take turns to write, which only avoids such conflicts: correctness rests on the condition alone.
"""
