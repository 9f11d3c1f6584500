"""Mending other agents' files: what an agent chokes on is made right, and all else stays.

A mender is pure. Lines that need nothing stay byte for byte; what cannot be read is given back to
be kept aside. Nothing that was said is dropped: a result whose call is missing becomes a text.
"""
