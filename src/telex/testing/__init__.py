"""The public kit for those who test with Telex: `strategies` makes valid messages of any dialect for hypothesis."""
