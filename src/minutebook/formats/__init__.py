"""Read the session files of other agents, found by content and not by name.

`reading.read` gives a `Reading`: our records, ready to be appended to a log, and beside them
what the agent no longer sends. Each format is one module; `reading.FORMATS` lists them.
"""
