"""Benchmarks: ratios against a lower bound or a peer, in interleaved rounds of one run, as medians."""
