"""The simulator: the real core over the real store in memory, a virtual clock, and everything that can go wrong.

One seed is one history: workload, schedule, faults, what operators do. A violation of a promise prints the seed and the
shortest list of happenings that still shows it. Seeds that once failed are kept for ever (`tests/seeds`).
"""
