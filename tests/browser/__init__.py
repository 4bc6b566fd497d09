"""What does a person see? Tests that drive the page in a real browser, on a real hub."""
