"""The wire shapes of the providers: what a history looks like in a request. Pure, no SDK.

`view` brings a history into an order that every provider takes, as an immutable value.
`chat` (OpenAI Chat Completions), `responses` (OpenAI Responses), `anthropic` (Anthropic
Messages) and `gemini` encode that value; `cache_marks` marks an Anthropic request for the
prompt cache. `ids`, `arguments`, `media`, `ciphers` and `stated` hold what several need.
`replies` reads what a provider answers. `validate_…` say which of a provider's rules a request
breaks.
"""
