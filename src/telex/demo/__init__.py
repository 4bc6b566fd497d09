"""Demo: eight agents make one change on a real bus. `team` is the agents and their folder, `story` what they do."""
