"""What a user may set: in `minutebook.toml`, in the environment, or as an argument.

Read from the ground up: `values` (what a configuration is), `fields` (which keys there are and
what each may be), `places` (in which line a key stands), `parsing` (a file's bytes to values
and problems), `resolving` (arguments before environment before file before defaults), `reading`
(finding and reading the file: the only part that touches the disk), `building` (summarisers
from their settings), `tagging` (which messages a rule marks).
"""
