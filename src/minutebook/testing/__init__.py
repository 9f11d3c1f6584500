"""Support for tests of what is built on minutebook: a store's conformance, disks that fail.

- `store`: `StoreConformance`, a pytest class with a test for each promise of a store
- `disks`: `WatchedDisk`, which notes each operation and lets a test break it
- `memory_disk`: `MemoryDisk`, a file system in memory that notes what is done to it
- `crashes`: every state that a power loss may leave of a `MemoryDisk`
"""

from __future__ import annotations

import pytest

# So that a broken promise shows what was there and what should have been.
pytest.register_assert_rewrite("minutebook.testing.store")
