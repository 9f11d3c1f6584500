"""Who writes a summary, and what is known of models.

The only floor below the session that calls anybody. `summarizer` says what a summariser is:
any async callable with a window. `openai_chat` and `anthropic_messages` are the ready ones,
each on its provider's SDK, which is imported only when one is made. `chain` has a summary
written by the first that can, `retry` says when to try again, `settings` reads the
environment, `windows` says how large a model's window is.
"""
