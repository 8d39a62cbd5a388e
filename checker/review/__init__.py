"""What a change of a protocol changes, on one page: text, verdicts, scenarios, behaviours, guards, proofs."""
