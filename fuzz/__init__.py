"""Seeded attacks on everything that takes input from outside: `make fuzz`.

A case is a valid call, file or command line with a few things twisted. It must be answered with
finite numbers or refused in one sentence; nothing else may happen. docs/robustness.md has a
recorded run.
"""
