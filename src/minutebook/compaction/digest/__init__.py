"""Write a structured summary of a conversation without a model.

`facts` are the values, `gather` reads them out of messages, `render` writes them within a
token budget, `parse` reads a summary of ours back, so that it can be carried on.
"""
