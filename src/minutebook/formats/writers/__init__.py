"""Writing sessions as other agents and providers have them.

A writer is a pure function of records; what it writes is read back and compared, so that its
report of what the target cannot hold is what really is gone.
"""
