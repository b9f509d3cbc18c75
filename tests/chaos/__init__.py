"""The proof that delivery can be trusted (DELIV-01): everything fails at random, and what every consumer
got is compared with the log. `run` starts it; HACKING.md says how."""
