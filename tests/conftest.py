"""What every test shares: which random cases Hypothesis draws."""

import os

from hypothesis import HealthCheck, settings

# The same cases on every run and every machine, so that a red test is about the change.
# A slow machine is no failure: no deadline, and no complaint about slow generation.
settings.register_profile(
    "default",
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
# New cases on each run, and many; what fails is kept in .hypothesis/ and printed.
settings.register_profile(
    "fuzz",
    max_examples=2_000,
    deadline=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("MINUTEBOOK_HYPOTHESIS", "default"))
