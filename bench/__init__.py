"""Ratios, measured: each against its floor or a peer, in interleaved rounds of one run, as medians."""
