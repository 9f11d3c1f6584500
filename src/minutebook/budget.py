"""When a request is too large, and how small it should become. Values in, values out.

A policy says the rules, a window gives them numbers: `limits` turns both into four token
counts, and `due` compares a request with them. Nothing here counts tokens.

All shares are taken exactly (a ratio of 0.7 of 200 000 is 140 000, not 139 999.99…): a
ratio is read as the decimal number that it is written as. A bound that triggers is rounded
up, room that may be used is rounded down.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor
from typing import Literal

from msgspec import Struct

from minutebook.errors import ConfigError

REPLY_TOKENS_UNKNOWN = 8_192
"""The reply's reserve where the model's output limit is unknown: what Anthropic's models
wrote by default for years, and more than nearly all replies of an agent take."""

REPLY_TOKENS_MIN = 1_024
"""A reply limited to less is cut too often to be of use: compact or refuse instead."""

TARGET_OF_TRIGGER_MAX = Fraction(9, 10)
"""The target is at most this share of the trigger, so that a compaction lasts for a while."""

STEPS = ("dedupe", "mask", "strip", "summarize", "window", "clip")
"""The names of the steps that a policy may use, in the order of the ladder."""


BACKGROUND_WAIT_SECONDS = 30.0
"""How long a session waits at the limit for a summary that is prepared in the background: longer
than most take, and no longer than a person waits for a step."""


class Policy(Struct, frozen=True, kw_only=True):
    """The rules by which a session is compacted; every field has the default preset's value."""

    name: str = "default"
    trigger_ratio: float = 0.85
    """A request of this share of the window is due. Kilo's percent threshold over 100."""
    buffer_ratio: float | None = None
    """If given, a request is due when `used > window × (1 − buffer) − reserve` (Kilo's
    rule); without it, when `used + reserve ≥ window` (Kimi's)."""
    reserve_tokens: int | None = None
    """Kept free for the reply. None: the model's output limit."""
    reserve_share_max: float = 0.20
    """The reserve is clamped to this share of the window, or small windows had no room."""
    target_ratio: float = 0.50
    """The share of the window that a compaction aims at, system prompt and tools included."""
    steps: tuple[str, ...] = STEPS
    """Which steps of the ladder may run; their order is fixed. None at all: compaction is off,
    and a request over the limit is refused as it is."""
    keep_first: int = 1
    """How many messages of the beginning are kept."""
    keep_last: int = 2
    """How many user or assistant messages of the end are kept, with their tool results."""
    keep_share: float = 1.0
    """The share of what the summary leaves of the target's room that kept messages may fill:
    so far the newest part reaches back. 0: no further than `keep_last`."""
    verbatim_share: float = 0.40
    """The share of the target's room whose newest messages no tool output is masked in."""
    verbatim_tokens: int | None = None
    """The same in tokens, in place of the share."""
    mask_gain_min: float = 0.05
    """A mask that frees less than this share of the request, and doesn't reach the target by
    it, is not used: it would break the provider's cache for little."""
    exclude_tools: tuple[str, ...] = ()
    """Tools whose outputs are never set aside, by their names."""
    drop_thinking: bool = True
    """Whether the strip step leaves out thinking of turns that have ended."""
    drop_media: bool = True
    """Whether the strip step leaves out old pictures, sounds and films."""
    summary_share: float = 0.50
    """The share of the target's room that the summary may take."""
    ledger_share: float = 0.25
    """The share of the target's room that the ledger may take: exact words carried on by rule."""
    user_share: float = 0.20
    """The share of the target's room for users' messages older than the newest part."""
    score_min: float = 0.0
    """A summary from outside whose checks come to a lower score is not used; see `verify`."""
    window_step: Literal["fit", "half"] = "fit"
    """How much the window step leaves out: just enough, or half of what may go."""


PRESETS: dict[str, Policy] = {
    "default": Policy(),
    # Nothing is ever compacted: what is too large is refused.
    "off": Policy(name="off", steps=()),
    # Kimi CLI: 0.85 of the window or 50 000 tokens before its end; keeps the last two.
    "kimi": Policy(
        name="kimi",
        reserve_tokens=50_000,
        reserve_share_max=0.50,
        keep_last=2,
        keep_share=0.0,
    ),
    # Kilo Code: a percentage (100 unless a profile says less) or a tenth of the window and
    # the reply before its end; keeps the first message and the last three, or leaves out half.
    "kilo": Policy(
        name="kilo",
        trigger_ratio=1.0,
        buffer_ratio=0.10,
        reserve_share_max=0.50,
        keep_first=1,
        keep_last=3,
        keep_share=0.0,
        window_step="half",
    ),
}
"""The policies that have a name."""


class Limits(Struct, frozen=True, kw_only=True):
    """What a policy means for one window, in tokens of the whole request."""

    window: int
    """The model's context window."""
    reserve: int
    """What is kept free for the reply."""
    trigger: int
    """The smallest request that is due to be compacted; over the limit if the policy is off."""
    target: int
    """The size that a compaction aims at; below the trigger, but in windows of under 3."""
    limit: int
    """The largest request that may be sent: the window less the reserve."""


def preset(name: str) -> Policy:
    """Give the policy of that name.

    Raises:
        ConfigError: If there is none.
    """
    try:
        return PRESETS[name]
    except KeyError:
        raise ConfigError(
            "preset", f"{name!r} is none; there are {', '.join(sorted(PRESETS))}"
        ) from None


def limits(
    policy: Policy,
    *,
    window: int | None,
    max_output: int | None,
    fixed: int,
    target_ratio: float | None = None,
) -> Limits:
    """Work out what *policy* means for a window of that many tokens.

    *fixed* is what the system prompt and the tool schemas take, which no compaction can
    lessen. *max_output* is the model's output limit; None or 0 is unknown. *target_ratio*
    overrides the policy's.

    A fixed part that is large beside the trigger would make every call due, each time in
    vain. So the trigger is lifted until the messages have as much room as the fixed part,
    but no further than halfway from the fixed part to the limit; likewise the target, but
    no further than a quarter of the way from the fixed part to the trigger.

    Raises:
        ConfigError: If the window is unknown, a value makes no sense, or the fixed part
            leaves no room for a message.
    """
    check(policy)
    if not window or window < 0:
        raise ConfigError(
            "window", "unknown; say how many tokens the model takes, e.g. window=200000"
        )
    ratio = policy.target_ratio if target_ratio is None else target_ratio
    if not 0 < ratio < 1:
        raise ConfigError("target", f"{ratio} is no share of the window between 0 and 1")
    wanted = policy.reserve_tokens
    if wanted is None:
        wanted = max_output if max_output and max_output > 0 else REPLY_TOKENS_UNKNOWN
    reserve = min(wanted, floor(window * _exact(policy.reserve_share_max)))
    limit = window - reserve
    if fixed >= limit:
        raise ConfigError(
            "window",
            f"system prompt and tools take {fixed} tokens of a window of {window}, of which"
            f" {reserve} are kept for the reply; that leaves no room for a message, and no"
            " compaction can help: shorten them, or use a model with a larger window",
        )
    if not policy.steps:
        return Limits(window=window, reserve=reserve, trigger=limit + 1, target=limit, limit=limit)
    trigger = min(_trigger(policy, window, reserve), limit)
    trigger = max(trigger, min(2 * fixed, fixed + (limit - fixed) // 2), 1)
    target = min(floor(window * _exact(ratio)), floor(trigger * TARGET_OF_TRIGGER_MAX))
    target = max(target, min(2 * fixed, fixed + (trigger - fixed) // 4), 1)
    return Limits(window=window, reserve=reserve, trigger=trigger, target=target, limit=limit)


def due(limits: Limits, used: int) -> str | None:
    """Say why a request of *used* tokens has to be compacted before it is sent.

    Gives `limit` when it may not be sent as it is, `trigger` when it should not, else None.
    An empty request is never due.
    """
    if used <= 0:
        return None
    if used > limits.limit:
        return "limit"
    return "trigger" if used >= limits.trigger else None


def reply_tokens_max(limits: Limits, used: int, max_output: int | None) -> int | None:
    """Give how many tokens the reply to a request of *used* tokens may be allowed.

    The model's output limit, or what the window has left if that is less: request and
    reply never exceed the window together. None when fewer are left than a reply needs
    (`REPLY_TOKENS_MIN`, or the whole reserve where that is smaller): then compaction or a
    refusal comes first.
    """
    wanted = max_output if max_output and max_output > 0 else REPLY_TOKENS_UNKNOWN
    left = min(wanted, limits.window - used)
    needed = min(REPLY_TOKENS_MIN, limits.reserve, wanted)
    return left if left >= max(needed, 1) else None


def check(policy: Policy) -> None:
    """Refuse a policy whose values make no sense.

    Raises:
        ConfigError: Naming the first such value.
    """
    shares = {
        "trigger_ratio": policy.trigger_ratio,
        "target_ratio": policy.target_ratio,
    }
    for name, value in shares.items():
        if not 0 < value <= 1:
            raise ConfigError(name, f"{value} is no share between 0 and 1")
    parts = {
        "reserve_share_max": policy.reserve_share_max,
        "buffer_ratio": policy.buffer_ratio or 0.0,
        "verbatim_share": policy.verbatim_share,
        "summary_share": policy.summary_share,
        "user_share": policy.user_share,
        "ledger_share": policy.ledger_share,
        "mask_gain_min": policy.mask_gain_min,
    }
    for name, value in parts.items():
        if not 0 <= value < 1:
            raise ConfigError(name, f"{value} is no share from 0 to below 1")
    for name, value in (("keep_share", policy.keep_share), ("score_min", policy.score_min)):
        if not 0 <= value <= 1:
            raise ConfigError(name, f"{value} is no share from 0 to 1")
    counts = {
        "reserve_tokens": policy.reserve_tokens or 0,
        "keep_first": policy.keep_first,
        "keep_last": policy.keep_last,
        "verbatim_tokens": policy.verbatim_tokens or 0,
    }
    for name, count in counts.items():
        if count < 0:
            raise ConfigError(name, f"{count} is negative")
    for step in policy.steps:
        if step not in STEPS:
            raise ConfigError("steps", f"{step!r} is none; there are {', '.join(STEPS)}")


def _trigger(policy: Policy, window: int, reserve: int) -> int:
    """Give the smallest number of tokens for which one of the policy's rules holds."""
    by_ratio = ceil(window * _exact(policy.trigger_ratio))
    if policy.buffer_ratio is None:
        return min(by_ratio, window - reserve)
    allowed = floor(window * (1 - _exact(policy.buffer_ratio)) - reserve)
    return min(by_ratio, allowed + 1)


def _exact(ratio: float) -> Fraction:
    """Read a ratio as the decimal number that it is written as."""
    return Fraction(str(ratio))
