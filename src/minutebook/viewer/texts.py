"""The words of the pages, in each language. English is the one that every text has first."""

from __future__ import annotations

from collections.abc import Callable

from minutebook.cli.inspecting import NAMES

LANGUAGES = ("en", "zh")

_KINDS_ZH = {
    "system": "系统提示词",
    "tools": "工具定义",
    "user": "用户",
    "assistant": "助手",
    "thinking": "思考",
    "tool_calls": "工具调用",
    "tool_results": "工具结果",
    "media": "媒体",
    "summary": "摘要",
    "other": "其他",
    "pinned": "固定",
}

TEXTS: dict[str, tuple[str, str]] = {
    **{f"kind.{kind}": (name, _KINDS_ZH[kind]) for kind, name in NAMES.items()},
    "kind.pending": ("not yet counted (estimate)", "尚未计数（估计）"),
    "kind.reserve": ("reserve for the reply", "为回复保留"),
    "kind.free": ("free", "空闲"),
    "skip": ("Skip to the content", "跳到正文"),
    "where": ("Where you are", "当前位置"),
    "look": ("Theme and language", "主题与语言"),
    "to_dark": ("Dark", "深色"),
    "to_light": ("Light", "浅色"),
    "to_auto": ("As the system", "跟随系统"),
    "other_language": ("中文", "English"),
    "news": ("This session has changed.", "会话有更新。"),
    "news_link": ("Load anew", "重新加载"),
    "sessions": ("Sessions", "会话"),
    "sessions_count": ("{} sessions", "{} 个会话"),
    "no_sessions": ("No session was found.", "没有找到会话。"),
    "search": ("Search", "搜索"),
    "agent": ("Agent", "智能体"),
    "all": ("all", "全部"),
    "sort": ("Order", "排序"),
    "sort.modified": ("last change", "最近更新"),
    "sort.title": ("title", "标题"),
    "sort.messages": ("messages", "消息数"),
    "sort.tokens": ("tokens", "token 数"),
    "sort.rewrites": ("earlier logs", "旧日志数"),
    "show": ("Show", "显示"),
    "title": ("Title", "标题"),
    "changed": ("Last change", "最近更新"),
    "messages": ("Messages", "消息"),
    "tokens": ("Tokens", "Token"),
    "filling": ("Window", "窗口"),
    "rewrites": ("Compactions and other rewrites", "压缩及其他重写"),
    "window_unknown": ("window unknown", "窗口未知"),
    "pages": ("Pages", "分页"),
    "first": ("First", "首页"),
    "previous": ("Previous", "上一页"),
    "next": ("Next", "下一页"),
    "last": ("Last", "末页"),
    "range": ("{} to {} of {}", "第 {} 至 {} 项，共 {} 项"),
    "read_conversation": ("Read the conversation", "阅读对话"),
    "newest": ("The newest messages", "最新消息"),
    "format": ("Format", "格式"),
    "model": ("Model", "模型"),
    "written": ("Written", "时间"),
    "turns": ("turns", "轮次"),
    "pinned": ("Pinned", "已固定"),
    "also": ("Also", "另有"),
    "window": ("The window", "窗口"),
    "used_of": ("{} of {} tokens, {} %", "已用 {}，共 {} 个 token，{} %"),
    "used": ("{} tokens", "{} 个 token"),
    "counted": ("{} counted by the provider and {} pending", "服务商计数 {}，待计数 {}"),
    "estimated": ("estimated", "估计值"),
    "bar_title": (
        "What fills the window, by kind; the table below has the numbers",
        "窗口的组成，数值见下表",
    ),
    "bar_numbers": ("The window in numbers", "窗口数值"),
    "by_kind_estimated": (
        "By kind as estimated, {} in all; the bar is scaled to what was counted.",
        "各类别为估计值，合计 {}；图按计数值缩放。",
    ),
    "what": ("Kind", "类别"),
    "share": ("Share", "占比"),
    "bounds": (
        "A compaction is due at {} tokens and aims at {}.",
        "达到 {} 个 token 时压缩，目标为 {}。",
    ),
    "curve": ("Tokens over the steps", "各步的 token 数"),
    "curve_title": ("{} steps, {} tokens at most", "共 {} 步，最多 {} 个 token"),
    "by_length": ("(by length: no provider has counted)", "（按长度估计：没有服务商计数）"),
    "no_steps": ("No steps yet.", "还没有步骤。"),
    "line.window": ("window", "窗口"),
    "line.trigger": ("trigger", "触发线"),
    "line.target": ("target", "目标线"),
    "largest": ("The largest messages", "最大的消息"),
    "lineage": ("Logs and checkpoints", "日志与检查点"),
    "live_log": ("The log now", "当前日志"),
    "rotation": ("Log {} (retired)", "旧日志 {}"),
    "missing": ("missing", "缺失"),
    "n_messages": ("{} messages", "{} 条消息"),
    "n_checkpoints": ("{} checkpoints", "{} 个检查点"),
    "left_by": ("left behind by: {}", "由此操作留下：{}"),
    "began_with": ("began with: {}", "起于：{}"),
    "made_from": ("Made from log {}.", "源自旧日志 {}。"),
    "aside": ("left aside", "分支"),
    "reason.compaction": ("compaction", "压缩"),
    "reason.revert": ("revert", "回退"),
    "reason.undo": ("undo", "撤销"),
    "reason.clear": ("clear", "清空"),
    "reason.restore": ("restore", "恢复"),
    "reason.fork": ("fork", "分叉"),
    "reason.dmail": ("D-Mail", "D-Mail"),
    "reason.repair": ("repair", "修复"),
    "look_into": ("look into", "查看"),
    "checkpoint": ("Checkpoint {}", "检查点 {}"),
    "problems": ("Problems", "问题"),
    "no_problems": ("No problems.", "没有问题。"),
    "more_problems": ("and {} more; `minutebook inspect` has them all", "另有 {} 个，见 inspect"),
    "line": ("line {}:", "第 {} 行："),
    "conversation": ("The conversation", "对话"),
    "jump": ("Go to message", "跳到消息"),
    "go": ("Go", "前往"),
    "seqs": ("{} to {}", "{} 至 {}"),
    "stored": ("Stored", "存储"),
    "sent": ("Sent", "发送"),
    "as_stored": ("as it is stored", "与存储相同"),
    "not_sent": ("not sent", "不发送"),
    "state.shortened": ("shortened", "已缩短"),
    "state.changed": ("in another form", "以另一种形式"),
    "marked": (
        "A call has no result; a marked one is sent in its place.",
        "有调用没有结果，发送时以标记的结果代替。",
    ),
    "not_sent_log": (
        "This log is retired: nothing of it is sent any more.",
        "这是旧日志，其中内容不再发送。",
    ),
    "covers": ("Stands for {} messages, {} to {}", "代表 {} 条消息，{} 至 {}"),
    "item_by_item": ("Item by item", "逐条查看"),
    "no_messages": ("No messages.", "没有消息。"),
    "empty": ("empty", "空"),
    "more_lines": ("{} more lines", "另有 {} 行"),
    "more_characters": ("{} more characters on the message's own page", "消息页上另有 {} 个字符"),
    "more_pieces": ("and {} more parts", "另有 {} 个部分"),
    "picture": ("picture ({})", "图片（{}）"),
    "role.user": ("user", "用户"),
    "role.assistant": ("assistant", "助手"),
    "role.tool": ("result", "结果"),
    "role.system": ("system", "系统"),
    "origin.summary": ("summary", "摘要"),
    "origin.notice": ("notice", "通知"),
    "origin.injection": ("injection", "注入"),
    "origin.checkpoint": ("checkpoint", "检查点"),
    "origin.import": ("import", "导入"),
    "origin.dmail": ("D-Mail", "D-Mail"),
    "step.dedupe": ("repeats left out", "去重"),
    "step.mask": ("masked", "遮蔽"),
    "step.strip": ("stripped", "剥离"),
    "step.summarize": ("summarised", "摘要"),
    "step.window": ("oldest left out", "舍去最旧"),
    "step.clip": ("clipped", "截短"),
    "found": ("Messages with “{}”", "包含“{}”的消息"),
    "nothing_found": ("Nothing was found.", "没有找到。"),
    "search_on": ("Search on", "继续搜索"),
    "message": ("Message {}", "消息 {}"),
    "in_conversation": ("In the conversation", "在对话中查看"),
    "call_id": ("Call", "调用"),
    "stands_in": ("Stands in", "位于"),
    "compaction": ("Compaction", "压缩"),
    "trigger": ("Why", "原因"),
    "steps": ("Steps", "步骤"),
    "focus": ("Focus", "重点"),
    "summary_by": ("Summary by", "摘要作者"),
    "digest": ("the built-in digest", "内置摘要"),
    "cost": ("Cost once", "一次性成本"),
    "size": ("Tokens", "Token"),
    "saved": ("Saved with each request after it", "此后每次请求节省"),
    "read_anew": ("{} tokens are read anew", "重新读取 {} 个 token"),
    "summary_took": (
        "the summary took {} tokens in and {} out",
        "摘要读入 {}、写出 {} 个 token",
    ),
    "pays_after": ("it pays after {} requests", "{} 次请求后回本"),
    "check.score": ("Verification score", "校验得分"),
    "check.pins": ("Pinned messages, word for word", "原样保留的固定消息"),
    "check.pins_lost": ("Pins lost", "丢失的固定消息"),
    "check.exchanges_split": ("Exchanges split", "被拆开的调用"),
    "check.needed": ("References still in use", "仍在使用的引用"),
    "check.needed_lost": ("References lost", "丢失的引用"),
    "check.needed_lost_count": ("How many were lost", "丢失数量"),
    "check.lines": ("Lines of the summary", "摘要行数"),
    "check.doubts": ("Doubts", "存疑内容"),
    "check.doubtful_lines": ("Doubtful lines", "存疑行数"),
    "check.language": ("Language", "语言"),
    "check.summary_language": ("Language of the summary", "摘要语言"),
    "before_after": ("Before and after", "前后对比"),
    "made": ("Written by it", "由其写入"),
    "rotation_missing": (
        "The log before it is missing, so its items cannot be shown.",
        "之前的日志缺失，无法逐条显示。",
    ),
    "number": ("Number", "编号"),
    "role": ("Role", "角色"),
    "text": ("Text", "内容"),
    "fate": ("What became of it", "结果"),
    "fate.kept": ("kept word for word", "原样保留"),
    "fate.shortened": ("shortened", "缩短"),
    "fate.left_out": ("left out", "舍去"),
    "before": ("Before", "之前"),
    "after": ("After", "之后"),
    "held": (
        "Process {} on {} has this session open for writing; it stays read only here.",
        "进程 {}（主机 {}）正在写入此会话，此处只读。",
    ),
    "change": ("Change", "更改"),
    "revert": ("revert", "回退"),
    "revert_to": ("Revert to checkpoint {}", "回退到检查点 {}"),
    "revert_leaves": ("{} messages are left behind:", "将留下 {} 条消息："),
    "revert_into": (
        "The checkpoint stands in log {}; its first {} messages come back.",
        "该检查点在旧日志 {} 中，其前 {} 条消息将恢复。",
    ),
    "nothing_lost": (
        "The log as it is becomes a retired one, and undo brings it back.",
        "当前日志会成为旧日志，可以撤销。",
    ),
    "note": ("Note for the model", "给模型的说明"),
    "do_revert": ("Revert", "回退"),
    "cancel": ("Cancel", "取消"),
    "undo": ("Undo the last rewrite", "撤销上次重写"),
    "force": ("even if messages came after it", "即使之后有新消息"),
    "pin": ("Pin", "固定"),
    "unpin": ("Unpin", "取消固定"),
    "target_percent": ("Target in percent of the window", "目标（窗口百分比）"),
    "compact_preview": ("Preview a compaction", "预览压缩"),
    "nothing_to_do": ("Nothing would be changed:", "不会有任何更改："),
    "preview_size": ("{} tokens would become {}.", "{} 个 token 将变为 {} 个。"),
    "do_compact": ("Compact", "压缩"),
    "done.revert": ("Reverted. The log before is log {}.", "已回退，之前的日志为旧日志 {}。"),
    "done.undo": ("Undone. The log before is log {}.", "已撤销，之前的日志为旧日志 {}。"),
    "done.compact": ("Compacted. The log before is log {}.", "已压缩，之前的日志为旧日志 {}。"),
    "done.nothing": ("Nothing was changed.", "没有任何更改。"),
    "error": ("That did not work", "操作未完成"),
    "not_there": ("There is nothing here", "此处没有内容"),
    "not_there_why": (
        "The session or the message is gone, or was never here.",
        "会话或消息已不在，或从未在此。",
    ),
    "not_allowed": ("This cannot be asked here", "此处不能这样请求"),
    "read_only": (
        "The viewer was started read only; --allow-write lets it change sessions.",
        "查看器以只读方式启动；用 --allow-write 允许更改。",
    ),
    "back": ("Back", "返回"),
}
"""Each text in English and in Chinese; `{}` stands for a value."""

Say = Callable[..., str]


def say_in(language: str) -> Say:
    """Give the function that says a text in a language."""
    column = LANGUAGES.index(language)

    def say(key: str, *values: object, default: object = None) -> str:
        found = TEXTS.get(key)
        if found is None:
            if default is None:
                raise KeyError(key)
            return str(default)
        return found[column].format(*values)

    return say


def choose(cookie: str, accepted: str) -> str:
    """Choose a language: what was chosen before, else the first known one that is accepted."""
    if cookie in LANGUAGES:
        return cookie
    weighed = []
    for place, one in enumerate(accepted.split(",")):
        name, _, quality = one.strip().partition(";q=")
        language = name.partition("-")[0].lower()
        if language in LANGUAGES:
            weighed.append((-_weight(quality), place, language))
    return min(weighed)[2] if weighed else LANGUAGES[0]


def _weight(quality: str) -> float:
    if not quality:
        return 1.0
    try:
        return min(max(float(quality), 0.0), 1.0)
    except ValueError:
        return 0.0
