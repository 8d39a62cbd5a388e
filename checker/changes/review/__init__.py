"""Reviews a change of a protocol: its effects on text, verdicts, scenarios, behaviours, guards and proofs."""
