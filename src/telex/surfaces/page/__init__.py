"""Content of the hub's page: timeline, feed, needs-you inbox, agents and conversations. The page derives nothing."""
