"""From what an engine has seen to a result: checks, liveness, refinement, trace inclusion, sweeps."""
