"""Reviews a change of a protocol on one page: text, verdicts, scenarios, behaviours, guards, proofs."""
