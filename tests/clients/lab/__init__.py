"""Lab: real coding tools in isolated homes, with a scripted model on loopback. `make clients` runs it."""
