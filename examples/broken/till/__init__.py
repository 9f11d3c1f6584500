"""Reads what a till exports and says what was sold. The rules are in README.md."""
