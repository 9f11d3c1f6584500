"""The wire shapes of the providers: what a history looks like in a request. Pure, no SDK.

`view` brings a history into an order that every provider takes, as an immutable value.
`chat` (OpenAI Chat Completions) and `anthropic` (Anthropic Messages) encode that value;
`ids`, `arguments` and `media` hold what both need. `validate_chat` and
`validate_anthropic` say which of the provider's rules a request breaks.
"""
