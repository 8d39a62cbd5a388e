"""Reviews a change of a protocol: what it does to text, verdicts, scenarios, behaviours, guards and proofs."""
