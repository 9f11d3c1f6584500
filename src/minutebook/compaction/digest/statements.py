"""Find the sentences that matter: instructions, decisions, what is still to do. Pure.

Sentences are quoted word for word. They are found by cue words in the languages that agents
are mostly spoken to in; in any other a sentence is found by where it stands (a user's own
message, the end of a turn), never lost for want of a cue.
"""

from __future__ import annotations

import re

from minutebook.compaction.digest.names import names_in

SENTENCE_CHARS_MAX = 320
"""A longer sentence is cut at its end; more than this is a paragraph without a full stop."""

TEXT_CHARS_MAX = 12_000
"""How much of one message is searched for sentences."""

REQUEST_CHARS_MAX = 1_200
"""How much of one user message is quoted; of a longer one, head and tail."""

_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_END = re.compile(
    r"(?<!e\.g)(?<!i\.e)([.!?][\"')\]*_]{0,4})\s+(?=[^a-z\s])|([。！？；][”’）*]{0,3})"
)
_BULLET = re.compile(r"^(?:(?:[-*+•>]|\d{1,2}[.)]|#{1,6}|\[[ xX]\])\s+)+")
_UNCHECKED = re.compile(r"^\s*(?:[-*+]|\d+[.)])?\s*(?:\[ \]|☐|⬜)\s+(.+)$", re.MULTILINE)

_RULE = re.compile(
    r"(?<!\bi )(?<!\bwe )(?<!\byou )(?<!\bthey )\b(?:do not|don't|dont)\b"
    r"|\b(?:never|always|must(?:n't| not)?|make sure|ensure|without|avoid"
    r"|prefer|instead of|no need to|should(?:n't| not)|keep in mind|remember|from now on"
    r"|rather than|required?|forbidden|stop \w+ing|please use|under no"
    r"|only (?:use|do|touch|change|edit|run|write|in|if|when|for|with|after)|use only)\b"
    r"|(?-i:\bNOT\b)|不要|不准|不许|不得|不能|别(?!人|的)|禁止|必须|务必|一定要|只能|只需|优先|始终|总是|切勿|请用|记住|以后"
    r"|\b(?:nunca|jamás|jamais|siempre|sempre|toujours|não|deve|debe|obligatorio|solo|seulement"
    r"|nie(?:mals)?|immer|nicht|keine?|darfst|musst|nur|bitte|n'(?:utilise|oublie)|ne \w+ pas"
    r"|no (?:uses?|toques?|hagas?|cambies?|modifiques?))\b"
    r"|никогда|всегда|нельзя|не надо|только|обязательно"
    r"|必ず|禁止|しないで|ないでください|絶対|항상|절대|하지 ?마|반드시",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:decid\w+|chose|choose|going with|go with|let's use|root cause|because|turns? out"
    r"|(?:i'll|we'll|i will|we will) (?:use|keep|go|make|switch|put)"
    r"|the (?:problem|issue|reason|cause|bug|fix|solution|error) (?:is|was|here)"
    r"|found (?:that|the|a)|confirmed?|discovered|instead of|so (?:that|the)|therefore|conclu\w+"
    r"|fixed|works? now|passes|now (?:pass|work)\w*|agreed|means that|needs? to"
    r"|not (?:possible|supported)|renamed|replaced|removed|implemented|added|summary)\b"
    r"|决定|采用|改用|改为|选择|原因|根因|因为|所以|因此|问题(?:在于|是)|发现|确认|结论|方案"
    r"|已修复|已完成|修好|通过了|实现了"
    r"|\b(?:decid\w+|porque|weil|parce que|das Problem|le problème|el problema|o problema"
    r"|corrigi\w*)\b",
    re.IGNORECASE,
)
_STRONG = re.compile(
    r"root cause|the (?:problem|issue|reason|bug|fix|solution) (?:is|was)|decid|turns? out|because"
    r"|instead of|根因|问题在于|原因|决定|发现",
    re.IGNORECASE,
)
_OPEN = re.compile(
    r"\b(?:todo|fixme|next(?: steps?)?(?=\s*[:,])|remaining|left to do|not (?:yet|done)|follow-?up"
    r"|still (?:need|have|to|fail|miss)\w*|later (?:we|i)|pending|unresolved"
    r"|needs? (?:work|fixing|testing)|(?:want|like) me to|shall i|should i|waiting for)\b"
    r"|下一步|接下来|待办|还需要?|尚未|剩下|剩余|未完成|之后再|后续|要不要我",
    re.IGNORECASE,
)
_DOING = re.compile(
    r"^(?:now|next|let me|let's|i'll|i will|i need|i'm|first|then|good|great|perfect|ok(?:ay)?)\b"
    r"|^(?:现在|接下来|让我|我来|我先|首先|然后|好的)",
    re.IGNORECASE,
)


def sentences(text: str) -> list[str]:
    """Split a text into its sentences, code blocks and list marks left out."""
    found = []
    marked = _END.sub(lambda end: f"{end[0].rstrip()}\n", _FENCE.sub("\n", text[:TEXT_CHARS_MAX]))
    for piece in marked.split("\n"):
        sentence = unmarked(piece)
        if sum(map(str.isalnum, sentence)) >= 4 or (len(sentence) >= 4 and not sentence.isascii()):
            found.append(cut(sentence))
    return found


def telling(text: str) -> list[str]:
    """Give the sentences of a text that say something by themselves.

    A lead-in ("Changes made:") is joined with what it leads to; exclamations, titles and
    other scraps of fewer than four words are left out.
    """
    found = []
    lead = ""
    for sentence in sentences(text):
        joined = f"{lead} {sentence}".strip()
        if sentence.endswith((":", "：")):
            lead = sentence
            continue
        lead = ""
        if _words(joined) >= 4:
            found.append(cut(joined))
    return found


def report(text: str, count_max: int = 2) -> list[str]:
    """Give the few sentences that tell most of what a turn came to, in their order."""
    said = telling(text)
    scored = sorted(
        range(len(said)),
        key=lambda index: (-_substance(said[index]) - (index == 0 and _words(said[0]) > 5), index),
    )
    return [said[index] for index in sorted(scored[:count_max])]


def _substance(sentence: str) -> float:
    """Rank a sentence: it decides or finds something, it names something."""
    return decision_weight(sentence) + (1.0 if names_in(sentence) else 0.0)


def is_slight(text: str) -> bool:
    """Tell whether a person's message is too slight to be a task: a command, a nod, a word."""
    return text.lstrip().startswith("/") or _words(text) < 3


def _words(text: str) -> int:
    """Count words; two characters of a script without spaces count as one."""
    wide = sum(char > "\u2e7f" for char in text)
    return len(text.split()) + wide // 2


def unmarked(line: str) -> str:
    """Give a line without the list mark or heading mark before it."""
    return _BULLET.sub("", line.strip()).strip()


def cut(sentence: str, chars_max: int = SENTENCE_CHARS_MAX) -> str:
    """Cut a sentence at its end, between words where there are any."""
    if len(sentence) <= chars_max:
        return sentence
    head = sentence[: chars_max - 1]
    space = head.rfind(" ")
    return f"{head[:space] if space > chars_max // 2 else head}…"


def quoted(text: str, chars_max: int = REQUEST_CHARS_MAX) -> str:
    """Give a person's text, or head and tail of one that is too long, with a mark between."""
    text = text.strip()
    if len(text) <= chars_max:
        return text
    head = chars_max * 2 // 3
    tail = chars_max - head
    return f"{text[:head].rstrip()} […{len(text) - chars_max}…] {text[-tail:].lstrip()}"


def is_rule(sentence: str) -> bool:
    """Tell whether a user's sentence says what to do, or not to do, from then on."""
    return _RULE.search(sentence) is not None and not sentence.rstrip().endswith(("?", "？"))


def decision_weight(sentence: str) -> float:
    """Say how much an assistant's sentence decides or finds: 0, 1 or 2."""
    if not _DECISION.search(sentence) or len(sentence) < 16:
        return 0.0
    if _DOING.match(sentence) and not _STRONG.search(sentence):
        return 0.0
    return 2.0 if _STRONG.search(sentence) else 1.0


def open_items(text: str) -> list[str]:
    """Give what a text says is still to do: unticked boxes, and sentences that say so."""
    boxes = [cut(match[1].strip()) for match in _UNCHECKED.finditer(text[:TEXT_CHARS_MAX])]
    said = [sentence for sentence in sentences(text) if _OPEN.search(sentence)]
    return list(dict.fromkeys([*boxes, *said]))
