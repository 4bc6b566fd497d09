"""Translation of messages between dialects, by shared intents and mapping tables."""
