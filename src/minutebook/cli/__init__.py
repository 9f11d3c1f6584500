"""The command line: `minutebook`, for people whose session is too long, broken or lost.

Start reading at `app` (which commands there are, and how errors end them), then one module per
group of commands: `inspecting`, `showing`, `compacting`, `rewinding`, `exporting`. They share
`opening` (what a PATH means), `importing` (another agent's file becomes a session), `findings`
(what is wrong with a session), `rendering` (how it looks) and `harmless` (what may be printed).
"""

from minutebook.cli.app import main

__all__ = ["main"]
