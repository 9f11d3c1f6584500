import pytest

from minutebook import ConfigError
from minutebook.integrations.extras import needing


def test_a_missing_package_is_said_with_the_extra_that_brings_it() -> None:
    """The error names the package and the line that installs it."""
    said = r"no_such_package.*pip install 'minutebook\[agents\]'"
    with pytest.raises(ConfigError, match=said), needing("agents"):
        raise ModuleNotFoundError("gone", name="no_such_package")


def test_another_error_passes_through() -> None:
    """Only a missing package is turned into an error of ours."""
    with pytest.raises(ValueError, match="else"), needing("agents"):
        raise ValueError("something else")
