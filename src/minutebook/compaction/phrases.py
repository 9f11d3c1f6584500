"""The words that compaction writes around what it keeps, by the conversation's language.

English and Chinese have sentences. Every other language gets labels that are short and
technical, so that a conversation in Portuguese isn't pushed into English by its own minutes;
the people's and the model's words are quoted as they were said in any case.

Summaries are read back by these same tables (see `digest.parse`): a changed text still has
to be read in its old form. No text here begins a message that asks the model for anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from minutebook.messages import Message
from minutebook.turns import is_real_user

SECTIONS = (
    "task",
    "rules",
    "earlier",
    "requests",
    "focus",
    "open",
    "decisions",
    "files",
    "commands",
    "errors",
    "names",
)
"""The parts of a digest, in the order in which they are written."""

USES = ("read", "write", "edit", "delete", "move", "search")
"""What can be done to a file, in the order in which it is written."""


class Phrases(Struct, frozen=True, kw_only=True):
    """All texts of one language. Places in braces are filled by `str.format`."""

    language: str
    """`en`, `zh`, or empty for any other."""
    lead: str
    """The first line of a summary: `first`, `last` (records) and `count` (messages)."""
    headings: dict[str, str]
    """The heading of each of `SECTIONS`."""
    record: str
    """How a record is named: `n`."""
    uses: dict[str, str]
    """How often each of `USES` was done: `n`."""
    file: str
    """A file's line: `path`, `uses`, `record`."""
    command: str
    """A command's line: `command`, `runs`, `record`."""
    failed: str
    """How often it failed, after `runs`: `n`."""
    error: str
    """An error's line: `text`, `source`, `record`."""
    resolved: str
    """What follows when the same thing worked later: `record`."""
    unresolved: str
    """What follows when it did not."""
    names: str
    """The line of names that were only seen somewhere: `place`, `names`, `times`, `record`."""
    names_used: str
    """The same for names that the assistant has written itself."""
    loose_names: str
    """For names seen in no file or command, or few in one: `names`, `times`, `record`."""
    loose_names_used: str
    """The same for names that the assistant has written itself."""
    names_per_line: int
    """How many names such a line may hold: its own sentence has more ordinary words than that,
    the place and the record's number counted as names."""
    ledger_lead: str
    """The first line of a ledger: `first`, `last` (records)."""
    ledger_todo: str
    """An entry of a to-do list: `text`, `record`."""
    ledger_rule: str
    """What a person asked to hold from then on: `text`, `record`."""
    note: str
    """What stands between the parts of a line."""
    comma: str
    """What stands between the members of a list."""
    stub: str
    """Stands for an old tool output: `tool`, `lines`, `chars`, `record`."""
    stub_repeat: str
    """Stands for an output that a newer one repeats: also `newer`."""
    stub_media: str
    """How many pictures, sounds or other parts beside text it had: `n`."""
    stub_outcome: str
    """How the call ended: `outcome`."""
    stub_names: str
    """A line of names that the output held: `names`."""
    left_out: str
    """The notice of the window step: `count`, `first`, `last`, `roles`."""
    users_left_out: str
    """The notice of user messages that only the summary tells of: `count`, `first`, `last`."""
    clipped: str
    """The mark of a cut: `chars`, `record`."""
    media: dict[str, str]
    """Stands for a picture (`image`), a sound (`audio`), a film (`video`): `record`."""
    roles: dict[str, str]
    """How many messages of a role: `n`."""


ENGLISH = Phrases(
    language="en",
    lead=(
        "Minutes of records {first} to {last}. This message stands for {count} earlier messages"
        " of this conversation; each is kept word for word and can be asked back by its record"
        " number. Nothing below is a new request."
    ),
    headings={
        "task": "Task",
        "requests": "Said by the user",
        "rules": "Standing instructions",
        "focus": "Where the work stands",
        "open": "Still open",
        "decisions": "Decided and found",
        "files": "Files touched",
        "commands": "Commands run",
        "errors": "Errors met",
        "names": "Names, numbers and links in use",
        "earlier": "Carried over from an earlier summary",
    },
    record="record {n}",
    uses={
        "read": "read {n}×",
        "write": "written {n}×",
        "edit": "edited {n}×",
        "delete": "deleted {n}×",
        "move": "moved {n}×",
        "search": "searched {n}×",
    },
    file="`{path}` was {uses}, last in {record}",
    command="`{command}` was run {runs}×, last in {record}",
    failed="it failed {n}×",
    error="{text} (from `{source}` in {record})",
    resolved="the same worked later in {record}",
    unresolved="not seen to work since",
    names=(
        "In `{place}` the work so far came across {names}, about {times}× each and last of all in"
        " {record}"
    ),
    names_used=(
        "In `{place}` the work so far made use of {names}, about {times}× each and last of all in"
        " {record}"
    ),
    loose_names=(
        "Elsewhere in this conversation there came up {names}, about {times}× each and last of all"
        " in {record}"
    ),
    loose_names_used=(
        "Elsewhere in this conversation use was made of {names}, about {times}× each and last of"
        " all in {record}"
    ),
    names_per_line=12,
    ledger_lead=(
        "Ledger of records {first} to {last}: exact words from earlier messages that are not"
        " shown any more, to be looked up and not to be acted on."
    ),
    ledger_todo="The list of things that are still to do has this: {text} ({record})",
    ledger_rule="The user asked for this to hold from then on: {text} ({record})",
    note="; ",
    comma=", ",
    stub=(
        "[The output of {tool} was set aside: {lines} lines, {chars} characters, whole in {record}"
    ),
    stub_repeat=(
        "[The output of {tool} was set aside, since {newer} holds a newer one:"
        " {lines} lines, {chars} characters, whole in {record}"
    ),
    stub_media="with {n} parts that are no text",
    stub_outcome="it ended with {outcome}",
    stub_names="Most often it named {names}, which tells what this output was about at the time",
    left_out=(
        "[{count} messages were left out here, records {first} to {last}: {roles}. They are kept"
        " word for word and can be asked back by record number.]"
    ),
    users_left_out=(
        "[{count} messages of the user, the first in record {first} and the last in record"
        " {last}, are left out here and told in the minutes. They are kept word for word.]"
    ),
    clipped="[… {chars} characters were left out here; {record} holds the whole …]",
    media={
        "image": "[A picture was left out here; {record} holds it]",
        "audio": "[A sound was left out here; {record} holds it]",
        "video": "[A film was left out here; {record} holds it]",
    },
    roles={
        "user": "{n} from the user",
        "assistant": "{n} from the assistant",
        "tool": "{n} tool results",
        "other": "{n} others",
    },
)

CHINESE = Phrases(
    language="zh",
    lead=(
        "纪要：记录 {first} 至 {last}。本消息代替此前的 {count} 条对话消息；"
        "原文逐字保留，可按记录号取回。以下内容不是新的请求。"
    ),
    headings={
        "task": "任务",
        "requests": "用户说过的话",
        "rules": "长期要求",
        "focus": "目前进展",
        "open": "尚未完成",
        "decisions": "已决定和已查明",
        "files": "涉及的文件",
        "commands": "运行过的命令",
        "errors": "遇到的错误",
        "names": "仍在使用的名称、数值和链接",
        "earlier": "沿用自先前的摘要",
    },
    record="记录 {n}",
    uses={
        "read": "读取 {n} 次",
        "write": "写入 {n} 次",
        "edit": "修改 {n} 次",
        "delete": "删除 {n} 次",
        "move": "移动 {n} 次",
        "search": "搜索 {n} 次",
    },
    file="`{path}` 已{uses}，最近一次见{record}",
    command="`{command}` 运行过 {runs} 次，最近一次见{record}",
    failed="失败 {n} 次",
    error="{text}（来自 `{source}`，见{record}）",
    resolved="后来同样的操作成功了，见{record}",
    unresolved="此后未见成功",
    names=(
        "在 `{place}` 的相关工作里先后出现过以下这些名称或数值：{names}，"
        "平均每个约 {times} 次，最近一次见{record}"
    ),
    names_used=(
        "在 `{place}` 的相关工作里先后用到过以下这些名称或数值：{names}，"
        "平均每个约 {times} 次，最近一次见{record}"
    ),
    loose_names=(
        "对话里别处还先后出现过以下这些名称、数值或者链接：{names}，"
        "平均每个约 {times} 次，最近一次见{record}"
    ),
    loose_names_used=(
        "对话里别处还先后用到过以下这些名称、数值或者链接：{names}，"
        "平均每个约 {times} 次，最近一次见{record}"
    ),
    names_per_line=12,
    ledger_lead=(
        "备查：记录 {first} 至 {last} 中不再显示的消息里的原文名称、数值和语句，"
        "仅供查阅，不是新的请求。"
    ),
    ledger_todo="待办清单上尚未完成的事项有：{text} ({record})",
    ledger_rule="用户要求此后一直照办的是：{text} ({record})",
    note="；",
    comma="、",
    stub="[{tool} 的输出已移出：共 {lines} 行、{chars} 个字符，全文在{record}",
    stub_repeat=(
        "[{tool} 的输出已移出，较新的一份在{newer}：共 {lines} 行、{chars} 个字符，全文在{record}"
    ),
    stub_media="含 {n} 个非文本部分",
    stub_outcome="结果是 {outcome}",
    stub_names="这份输出里最常出现的名称依次是以下这些，可据此了解它的内容：{names}",
    left_out=(
        "[此处略去 {count} 条消息，记录 {first} 至 {last}：{roles}。原文逐字保留，可按记录号取回。]"
    ),
    users_left_out=(
        "[此处略去 {count} 条用户消息（记录 {first} 至 {last} 之间），其内容见纪要；原文逐字保留。]"
    ),
    clipped="[… 此处略去 {chars} 个字符，全文在{record} …]",
    media={
        "image": "[此处略去一张图片，原件在{record}]",
        "audio": "[此处略去一段音频，原件在{record}]",
        "video": "[此处略去一段视频，原件在{record}]",
    },
    roles={
        "user": "用户 {n} 条",
        "assistant": "助手 {n} 条",
        "tool": "工具结果 {n} 条",
        "other": "其他 {n} 条",
    },
)

NEUTRAL = Phrases(
    language="",
    lead="[minutebook #{first}–#{last} · {count} → 1 · # = record, original text on request]",
    headings={
        "task": "Task",
        "requests": "User",
        "rules": "Rules",
        "focus": "Status",
        "open": "Todo",
        "decisions": "Log",
        "files": "Files",
        "commands": "Commands",
        "errors": "Errors",
        "names": "Index",
        "earlier": "Summary",
    },
    record="#{n}",
    uses={
        "read": "read ×{n}",
        "write": "write ×{n}",
        "edit": "edit ×{n}",
        "delete": "delete ×{n}",
        "move": "move ×{n}",
        "search": "search ×{n}",
    },
    file="file `{path}`: {uses}, last record {record}",
    command="command `{command}`: run ×{runs}, last record {record}",
    failed="error ×{n}",
    error="error: {text} (`{source}`, last record {record})",
    resolved="ok {record}",
    unresolved="open",
    names="index `{place}`: {names} (names, numbers, links; ×{times}, last record {record})",
    names_used=(
        "index `{place}`: {names} (names, numbers, links, in use; ×{times}, last record {record})"
    ),
    loose_names="index: {names} (names, numbers, links, text; ×{times}, last record {record})",
    loose_names_used=(
        "index: {names} (names, numbers, links, in use; ×{times}, last record {record})"
    ),
    names_per_line=4,
    ledger_lead="[minutebook index · #{first}–#{last} · # = record, original text on request]",
    ledger_todo="todo, list, status open, record: {text} ({record})",
    ledger_rule="user, rule, status valid, record: {text} ({record})",
    note="; ",
    comma=", ",
    stub="[tool output {tool}: {lines} lines, {chars} chars, original record {record}",
    stub_repeat=(
        "[tool output {tool}: repeated in {newer}; {lines} lines, {chars} chars,"
        " original record {record}"
    ),
    stub_media="+{n} media",
    stub_outcome="{outcome}",
    stub_names="index, output, names, numbers: {names}",
    left_out="[#{first}–#{last}: {count} × … ({roles})]",
    users_left_out="[user: {count} × … #{first}–#{last}]",
    clipped="[… {chars} chars → {record} …]",
    media={
        "image": "[image → {record}]",
        "audio": "[audio → {record}]",
        "video": "[video → {record}]",
    },
    roles={
        "user": "user {n}",
        "assistant": "assistant {n}",
        "tool": "tool {n}",
        "other": "other {n}",
    },
)

ALL = (ENGLISH, CHINESE, NEUTRAL)

SAMPLE_CHARS = 2_000
"""How much of one message counts for its language; a pasted log must not outvote people."""

SAMPLE_MESSAGES = 200
"""How many of the newest messages count: people change their language, and a long session
shall not cost more."""

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_RUN = re.compile(r"[!-~]+")
_NAME_SIGNS = frozenset("/_\\@.")
_WORD = re.compile(r"[^\W\d_]+")
_HAN = re.compile(r"[一-鿿]")
_OTHER_SCRIPT = re.compile(r"[Ͱ-ᇿ぀-ヿ가-힣Ḁ-ỿ]")
"""Greek to Hangul Jamo, kana, Hangul, and Vietnamese's letters: no English, no Chinese."""

_SMALL_ENGLISH = """
the and is are was to of in it that this with for on not you we be as at have do can should please
make add fix use from what how why which when all any but if so my your our now there run test file
code change update look check let see only just i a
"""
_SMALL_OTHER = """
de la el los las un una que es en por para con se lo como más pero le les des du et est une dans
pour pas sur qui vous nous je ne der die das und ist nicht ein eine zu mit auf den von wir ich
bitte o os um uma não é em da dos das com ao mais il di che per non sono una del della het een
van niet och att det som är på inte og ikke na ma się nie
"""
_ENGLISH_WORDS = frozenset(_SMALL_ENGLISH.split())
_OTHER_WORDS = frozenset(_SMALL_OTHER.split())


def phrases_for(messages: Iterable[Message]) -> Phrases:
    """Choose the texts for a conversation by what its people wrote, code left out.

    Without a word of theirs (an imported tool loop, say) by what the assistant wrote, and
    English if that says nothing either.
    """
    history = list(messages)
    for wanted in (is_real_user, _is_reply):
        texts = [message.text[:SAMPLE_CHARS] for message in history if wanted(message)]
        language = detect(texts[-SAMPLE_MESSAGES:])
        if language is not None:
            return {"en": ENGLISH, "zh": CHINESE}.get(language, NEUTRAL)
    return ENGLISH


def detect(texts: Iterable[str]) -> str | None:
    """Tell the language of some texts: `en`, `zh`, empty for another, None if it can't be told.

    People who write Chinese mix in English terms, so a few characters outvote Latin letters
    unless small English words hold them together; Japanese shows itself by its kana. Of the
    languages in Latin letters the small words decide, and English wins a tie.
    """
    text = _RUN.sub(_without_names, _CODE.sub(" ", "\n".join(texts)))
    han = len(_HAN.findall(text))
    other_script = len(_OTHER_SCRIPT.findall(text))
    words = [word.lower() for word in _WORD.findall(text) if word[0] < "ɐ"]
    latin = sum(map(len, words))
    if not han and not other_script and not words:
        return None
    if other_script > han and other_script * 2 > latin:
        return ""
    english = sum(word in _ENGLISH_WORDS for word in words)
    if han * 2 > latin or (han * 8 > latin and han >= 2 * english):
        return "" if other_script * 3 > han else "zh"
    others = sum(word in _OTHER_WORDS or not word.isascii() for word in words)
    return "" if others > english else "en"


def _without_names(run: re.Match[str]) -> str:
    """Leave out a run of ASCII that has a path's or an identifier's signs inside."""
    return " " if _NAME_SIGNS.intersection(run[0][:-1]) else run[0]


def _is_reply(message: Message) -> bool:
    return message.role == "assistant"
