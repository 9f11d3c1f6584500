"""Tools that an agent's model may be offered: a schema for each API, and a handler.

- `offer`: what a tool is, its schemas, and how arguments are read
- `dmail`: `send_dmail`, a message to oneself at an earlier checkpoint
- `recall`: `recall_history`, the originals of what was masked or summarised; with `originals`
  (a message as it is read back) and `search`
- `condense`: `condense`, a compaction that the model proposes and the user decides

Each is bound to one session; there is no global state.
"""
