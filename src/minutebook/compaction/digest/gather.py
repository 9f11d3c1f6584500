"""Read the facts out of messages. Pure: equal messages give equal facts.

Messages are read in their order. Who wrote one is decided by its origin, never by its text:
only a message whose origin is `summary` is read as a summary. What `recall_history` brought
back was said before, and is no fact of its own. Thinking is left out: it is
the model's own scratch paper, and providers forbid to quote some of it.
"""

from __future__ import annotations

from collections.abc import Sequence

from minutebook.compaction.calls import RECALL_TOOL, Act, act_of, shorten
from minutebook.compaction.digest.facts import LISTED, Facts, Quote, add_quote
from minutebook.compaction.digest.names import names_in
from minutebook.compaction.digest.parse import is_ledger, read_ledger, read_summary
from minutebook.compaction.digest.statements import (
    cut,
    decision_weight,
    is_rule,
    is_slight,
    open_items,
    quoted,
    report,
    sentences,
    telling,
)
from minutebook.compaction.outcomes import outcome_of
from minutebook.messages import Message
from minutebook.turns import Pairing, origin_of, pair

REMINDER_CHARS_MAX = 240
"""How much is quoted of a task that the reader sees in whole elsewhere."""

SOURCE_CHARS_MAX = 80
"""How long the name of what failed may be."""

PLACE_CHARS_MAX = 60
"""How long a command may be that stands for the place of names."""

_PERSONAL = frozenset(("user", "dmail", "import"))
_SILENT = frozenset(("injection", "checkpoint"))


def gather(messages: Sequence[Message], *, task: Message | None = None) -> Facts:
    """Read all facts out of *messages*, earlier summaries among them first of all.

    *task* is the message with the task where that is not among them: it is quoted shortly,
    and all that people wrote in *messages* are later requests.
    """
    facts = Facts()
    if task is not None and task.text.strip():
        facts.task = Quote(quoted(task.text, REMINDER_CHARS_MAX), task.seq or 0)
    for message in messages:
        if is_ledger(message):
            read_ledger(message, facts)
        elif origin_of(message) == "summary":
            read_summary(message, facts)
    pairing = pair(messages)
    acts = {
        (index, number): act_of(call)
        for index, message in enumerate(messages)
        for number, call in enumerate(message.calls)
    }
    asked = {result: key for key, result in pairing.results.items()}
    spoken: list[tuple[Message, bool]] = []
    for index, message in enumerate(messages):
        origin = origin_of(message)
        if origin == "summary" or is_ledger(message):
            continue
        record = message.seq or 0
        facts.cover(record, record, 1)
        if message.role == "tool":
            key = asked.get(index)
            _read_result(facts, message, acts[key] if key else None)
        elif message.role == "assistant":
            own = [acts[index, number] for number in range(len(message.calls))]
            _read_reply(facts, message, own)
            spoken.append((message, _ends_turn(messages, index)))
        elif origin in _PERSONAL:
            _read_request(facts, message)
        elif origin not in _SILENT:
            facts.meet(names_in(message.text), record, place="", own=False)
    _read_focus(facts, messages, pairing, spoken)
    return facts


def _read_request(facts: Facts, message: Message) -> None:
    """Read what a person wrote: the task, a later request, standing instructions."""
    record = message.seq or 0
    text = message.text
    if not text.strip():
        return
    quote = Quote(quoted(text), record)
    if facts.task is None:
        facts.task = quote
    else:
        if is_slight(facts.task.text) and not is_slight(text):
            # What came before the first real request was no task.
            facts.task, quote = quote, facts.task
        add_quote(facts.requests, quote)
    for sentence in sentences(text):
        if is_rule(sentence):
            add_quote(facts.rules, Quote(sentence, record))
    facts.meet(names_in(text), record, place="", own=False)


def _read_reply(facts: Facts, message: Message, acts: Sequence[Act]) -> None:
    """Read what the assistant said and called."""
    record = message.seq or 0
    text = message.text
    for sentence in telling(text):
        weight = decision_weight(sentence)
        if weight:
            add_quote(facts.decisions, Quote(sentence, record, weight))
    facts.meet(names_in(text), record, place="", own=True)
    for act in acts:
        place = _place(act)
        facts.meet(names_in(act.values), record, place=place, own=True)
        if act.kind == "todo":
            _read_todo(facts, act, record)


def _read_result(facts: Facts, message: Message, act: Act | None) -> None:
    """Read what came out of a call: uses of files, runs of commands, errors."""
    record = message.seq or 0
    text = message.text
    place = _place(act) if act else ""
    if act is not None and act.tool == RECALL_TOOL:
        return
    facts.meet(names_in(text), record, place=place, own=False)
    if act is None:
        return
    outcome = outcome_of(text, ran=act.ran, shows=act.shows)
    if not outcome.failed:
        for use, path in act.uses:
            facts.use_file(use, path, record, act.note)
    if act.ran:
        # What the error said stands under the errors.
        code = f"exit code {outcome.code}" if outcome.code else ""
        facts.run(act.subject, record, outcome.counts or code, failed=outcome.failed)
    source = shorten(f"{act.tool} {act.subject}" if not act.ran else act.subject, SOURCE_CHARS_MAX)
    if not outcome.failed:
        facts.work(source, record)
    elif outcome.error:
        facts.fail(source, outcome.error, record)


def _read_todo(facts: Facts, act: Act, record: int) -> None:
    """Take a to-do list as the open items; a later list replaces an earlier one."""
    entries: list[Quote] = []
    for key in ("todos", "plan", "items", "tasks", "list"):
        value = act.arguments.get(key)
        for item in value if isinstance(value, list) else ():
            entry = _todo_entry(item)
            if entry:
                entries.append(Quote(entry, record, LISTED))
        if isinstance(value, list):
            facts.open = [*(quote for quote in facts.open if quote.weight < LISTED), *entries]
            return
    subject = act.arguments.get("subject")
    if isinstance(subject, str) and subject.strip():
        add_quote(facts.open, Quote(cut(subject.strip()), record, LISTED))


def _todo_entry(item: object) -> str:
    """Give an entry of a to-do list with its state; empty if it is done."""
    if isinstance(item, str):
        return cut(item.strip())
    if not isinstance(item, dict):
        return ""
    state = str(item.get("status", item.get("state", ""))).lower()
    if state in {"completed", "complete", "done", "finished", "cancelled", "canceled"}:
        return ""
    for key in ("content", "title", "step", "task", "text", "description", "subject", "name"):
        value = item.get(key)
        if isinstance(value, str) and value.strip():
            return f"{cut(value.strip())} ({state})" if state else cut(value.strip())
    return ""


def _read_focus(
    facts: Facts,
    messages: Sequence[Message],
    pairing: Pairing,
    spoken: Sequence[tuple[Message, bool]],
) -> None:
    """Read where the work stands at the end, and what each turn came to."""
    for message, ends in spoken:
        if ends:
            # How a turn ended is the assistant's own report of it.
            for sentence in report(message.text):
                add_quote(facts.decisions, Quote(sentence, message.seq or 0, 2.5))
    last_words = next((message for message, _ in reversed(spoken) if message.text.strip()), None)
    if last_words is None:
        return
    record = last_words.seq or 0
    said = telling(last_words.text) or sentences(last_words.text)
    facts.focus = [Quote(sentence, record) for sentence in said[:2]]
    facts.open = [quote for quote in facts.open if quote.weight >= LISTED]
    for item in open_items(last_words.text):
        add_quote(facts.open, Quote(item, record))
    if pairing.open and pairing.open[-1][0] == len(messages) - 1:
        message = messages[-1]
        for call in message.calls:
            act = act_of(call)
            facts.focus.append(Quote(f"{act.tool} {act.subject}".strip(), message.seq or 0))


def _ends_turn(messages: Sequence[Message], index: int) -> bool:
    """Tell whether a reply ends its turn: it calls nothing, and a person writes next."""
    if messages[index].calls:
        return False
    following = messages[index + 1] if index + 1 < len(messages) else None
    return following is None or origin_of(following) in _PERSONAL


def _place(act: Act) -> str:
    """Name the place of what a call sends and brings: its one file, or the command."""
    paths = {path for _, path in act.uses}
    if len(paths) == 1:
        return paths.pop()
    return shorten(act.subject, PLACE_CHARS_MAX) if act.kind in {"run", "search", "fetch"} else ""
