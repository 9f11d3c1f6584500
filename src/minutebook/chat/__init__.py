"""A plain chat with tools, on any endpoint: how an agent's loop uses the library.

Read `loop` first: it is the whole agent. `endpoint` asks the model, `tools` does what it calls,
`commands` are what the user types after a slash, `screen` is what the user sees.
"""
