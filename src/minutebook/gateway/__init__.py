"""The gateway: an HTTP endpoint between an agent and its provider.

It keeps each conversation as a session and sends on what fits; when in doubt it passes a
request through untouched. Pure: `wires`, `asking`, `mapping`, `chains`, `frames`, `replies`,
`redaction`, `settings`, `tracks`. The world is touched by `book` and `exchange` (sessions on
disk), `app` (HTTP both ways) and `serving` (the process). Needs the extra `gateway`.
"""
