"""How many tokens a request takes: estimated, by kind, against a window. Pure, no I/O."""
