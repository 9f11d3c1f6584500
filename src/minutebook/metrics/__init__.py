"""Metrics for Prometheus: what they are called, and what fills them from a session's events."""
