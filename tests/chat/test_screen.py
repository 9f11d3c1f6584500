"""What the user sees cannot steer the terminal."""

from minutebook.chat.screen import Screen
from minutebook.messages import assistant, call


def test_control_sequences_are_made_visible() -> None:
    """In words, calls and names."""
    seen: list[str] = []
    screen = Screen(seen.append)
    screen.says(assistant("\x1b]0;owned\x07 hello"))
    screen.says(assistant("  "))
    screen.calls(call("a", "run\x1b[2J", '{"command": "\x9b2J"}' + "x" * 500))
    screen.table({"tool_calls": 1_200, "user": 3})
    assert not any(sign in line for line in seen for sign in "\x1b\x07\x9b")
    assert len(seen) == 4
    assert len(seen[1]) < 300
    assert seen[2:] == ["  tool calls       1,200", "  user                 3"]
