"""Nodes on one PostgreSQL with a standby, faults, and a checker. tests/cluster/run."""
