"""The log on disk and its stand-ins: one contract (`contract`), two stores.

- `contract`: what a store promises, and the values it gives
- `disk`: the only module that calls the operating system's file functions
- `names`: session ids and the names of files in a session's directory
- `lock`: one writer at a time
- `metadata`: `session.json`
- `files`: the store on files
- `memory`: the same contract without a disk
"""
