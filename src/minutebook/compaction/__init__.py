"""Make a history smaller: a ladder of pure steps, and the digest that needs no model.

Start reading at `plan` (the values), then `ladder` (the order), then the steps: `mask`,
`summarize`, `window`, `clip`. What they share is in `keep` (what may not go), `calls` and
`outcomes` (what tool calls and results say) and `phrases` (the texts, by language).
"""
