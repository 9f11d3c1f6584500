"""The viewer: pages that show what fills a session's window, and where one can go back to.

Start reading at `pages` (what there is to see), then `library` (which sessions there are, and
what is known of them), `logs` and `growing` (one log, read a part at a time, and read on),
`conversation` and `ancestry` (the messages of a page; how logs came from each other), `charts`
and `telling` (how figures and messages look), `changing` (what may be changed), `guard` (who may
ask) and `app`. Everything is drawn by the server; nothing comes from another origin.
"""
