"""What survives? Crash tests: power cuts, kills and faults, each run against the real store."""
