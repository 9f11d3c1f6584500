"""The estimate of a text: against a slow and obvious model, and against o200k itself."""

import base64
import importlib
import json
import random
import shutil
import statistics
import sysconfig
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minutebook.tokens.text import (
    BLOB_CHARACTER,
    BLOB_LENGTH,
    CHARACTER,
    HALF_START,
    SCRIPTS,
    SPACE,
    START,
    estimate_text,
)

# Letters of every kind that the model tells apart, often in runs, lone surrogates among them.
LETTERS = " \n\taZ9_-.=é§жΩع中あ한，😀—\x00\x1b\ud800"
PIECES = st.text(alphabet=st.sampled_from(LETTERS), max_size=12)
RUNS = st.builds(
    lambda piece, times: piece * times, PIECES, st.sampled_from([1, 2, 60, BLOB_LENGTH])
)
TEXTS = st.lists(st.one_of(PIECES, RUNS, st.text(max_size=20)), max_size=6).map("".join)
BASE64_LETTERS = set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/=-_")

CHINESE = (
    "会话的全部内容都写入磁盘，每条记录占一行，写入之后不再修改。"
    "发送给模型的内容由日志计算得出：足够小，能放进上下文窗口；对接口有效；"
    "并且保留代理继续工作所需要的信息。压缩之前先检查，压缩之后可以撤销。"
)
RUSSIAN = (
    "Весь разговор записывается на диск, по одной записи в строке, и записанная строка "
    "больше никогда не изменяется. Модели отправляется только то, что нужно для продолжения "
    "работы, и каждое сжатие можно отменить."
)
JAPANESE = (
    "会話はすべてディスクに書き込まれ、一行に一つの記録となり、書かれた行は二度と変更されません。"
    "モデルに送られる内容はログから計算され、コンテキストの大きさに収まります。"
)
KOREAN = (
    "대화 전체가 디스크에 기록되고, 한 줄에 하나의 기록이 들어가며, 기록된 줄은 다시는 바뀌지 "
    "않습니다. 모델에 보내는 내용은 로그에서 계산됩니다."
)


def kind_of(character: str) -> str:
    """Say which kind of byte a character is made of."""
    if character.isascii() and character.isdigit():
        return "number"
    if character in "\n\r\t":
        return "break"
    if character == " ":
        return "space"
    if not character.isascii() or character.isalpha():
        return "word"
    return "sign"


def slow_weight(text: str) -> int:
    """Weigh a text that holds no data, run by run and character by character."""
    weight = 0
    for kind, members in groupby(text, kind_of):
        run = "".join(members)
        if kind in {"word", "break"}:
            weight += START
        if kind == "number":
            weight += 2 * START
        if kind == "sign":
            weight += HALF_START * min(len(run), 2)
        if kind == "space" and len(run) > 1:
            weight += START
    for is_capital, _ in groupby(text, lambda character: "A" <= character <= "Z"):
        weight += HALF_START * is_capital
    for character in text:
        weight += SPACE if character == " " else CHARACTER
        lead = character.encode("utf-8", "surrogatepass")[0]
        weight += sum(cost for leads, cost in SCRIPTS if lead in leads)
    return weight


def slow_estimate(text: str) -> int:
    """Estimate a text by the rule as it is told in words."""
    weight = 0
    prose = ""
    for is_base64, members in groupby(text, BASE64_LETTERS.__contains__):
        run = "".join(members)
        if is_base64 and len(run) >= BLOB_LENGTH:
            plain = slow_weight(run)
            weight += slow_weight(prose)
            weight += max(plain, min(plain * 3 // 2, BLOB_CHARACTER * len(run)))
            prose = ""
        else:
            prose += run
    weight += slow_weight(prose)
    return max((weight + 500) // 1000, 1) if text else 0


def exact_counter() -> Any:
    """Give o200k's own counter, or skip."""
    quicktok = pytest.importorskip("quicktok", reason="o200k comes with minutebook[tokens]")
    return quicktok.get_encoding("o200k_base").count


def library_sources() -> dict[str, str]:
    """Read some modules of the standard library, of one size each."""
    library = Path(sysconfig.get_path("stdlib"))
    names = ["ast", "bisect", "calendar", "dataclasses", "difflib", "heapq", "ipaddress"]
    names += ["json/decoder", "logging/config", "queue", "shlex", "statistics", "zipfile"]
    paths = [library / f"{name}.py" for name in names]
    texts = {path.stem: path.read_text("utf-8") for path in paths if path.exists()}
    assert len(texts) >= 5
    return texts


@given(TEXTS)
def test_the_fast_estimate_is_the_rule_told_in_words(text: str) -> None:
    """Counting all places at once gives what counting them one by one gives."""
    assert estimate_text(text) == slow_estimate(text)


@pytest.mark.parametrize("seed", range(3))
def test_texts_of_several_blocks_are_weighed_as_one(seed: int) -> None:
    """Where a long text is cut into blocks, no word is counted twice or lost."""
    draw = random.Random(seed)
    text = "".join(draw.choices("ab Z9_-\n中 ", k=200_000))
    assert estimate_text(text) == slow_estimate(text)


@given(TEXTS)
def test_only_an_empty_text_costs_nothing(text: str) -> None:
    """An estimate is never negative, and never 0 for text that is there."""
    assert (estimate_text(text) > 0) == (text != "")


@given(TEXTS, TEXTS)
def test_more_text_never_costs_less(before: str, after: str) -> None:
    """Two texts joined cost at least what the larger costs alone."""
    joined = estimate_text(before + after)
    assert joined >= max(estimate_text(before), estimate_text(after)) - 1


@given(TEXTS, TEXTS)
def test_joining_texts_is_no_dearer_than_sending_both(before: str, after: str) -> None:
    """Two texts joined cost about their sum, unless the seam makes data of them."""
    if len(before) + len(after) < BLOB_LENGTH:
        joined = estimate_text(before + after)
        assert joined <= estimate_text(before) + estimate_text(after) + 1


@pytest.mark.parametrize("character", [" ", "\n", "\0", "a", "=", "中", "😀", "\ud800", "\u2028"])
def test_megabytes_of_one_character_are_counted(character: str) -> None:
    """What makes real tokenizers raise or run for ever is counted, and never as free."""
    tokens = estimate_text(character * 1_000_000)
    assert 5_000 <= tokens <= 2_000_000


@pytest.mark.parametrize("before", ["", "x", "see: ", "中文，", "a" * 255 + " ", "\n" * 300])
def test_data_in_a_text_is_found_wherever_it_begins(before: str) -> None:
    """A run of base64 costs the same behind any text, and more than as prose."""
    data = base64.b64encode(random.Random(7).randbytes(BLOB_LENGTH)).decode().rstrip("=")
    alone = estimate_text(data)
    assert alone > slow_weight(data) / 1000
    assert abs(estimate_text(f"{before}\n{data}\n") - estimate_text(f"{before}\n") - alone) <= 2


def test_a_run_shorter_than_data_is_prose() -> None:
    """One character decides: the rule for data begins at its stated length."""
    data = base64.b64encode(random.Random(7).randbytes(BLOB_LENGTH)).decode()
    below, at = data[: BLOB_LENGTH - 1], data[:BLOB_LENGTH]
    assert estimate_text(below) == (slow_weight(below) + 500) // 1000
    assert estimate_text(at) > estimate_text(below) + 20
    assert estimate_text(f"{below} and on") == slow_estimate(f"{below} and on")


def test_sources_are_within_12_percent_of_o200k() -> None:
    """Python is estimated well: no module is off by more than 12 %, most by far less."""
    count = exact_counter()
    errors = [estimate_text(text) / count(text) - 1 for text in library_sources().values()]
    assert max(map(abs, errors)) <= 0.12
    assert statistics.median(map(abs, errors)) <= 0.06


def test_english_and_json_are_within_12_percent_of_o200k() -> None:
    """So are prose (what the library says about itself) and JSON."""
    count = exact_counter()
    names = ["argparse", "asyncio", "decimal", "logging", "pathlib", "subprocess", "unittest"]
    prose = "\n\n".join(importlib.import_module(name).__doc__ or "" for name in names)
    rows = [
        {"name": name, "text": getattr(shutil, name).__doc__, "public": True, "calls": 3}
        for name in shutil.__all__
    ]
    for text in (prose, json.dumps(rows), json.dumps(rows, indent=2)):
        assert abs(estimate_text(text) / count(text) - 1) <= 0.12


@pytest.mark.parametrize(
    ("text", "error_max"),
    [(CHINESE, 0.15), (RUSSIAN, 0.25), (JAPANESE, 0.25), (KOREAN, 0.25)],
    ids=["chinese", "russian", "japanese", "korean"],
)
def test_other_scripts_are_near_o200k(text: str, error_max: float) -> None:
    """Chinese is estimated to 15 %, Russian, Japanese and Korean to 25 %."""
    assert abs(estimate_text(text) / exact_counter()(text) - 1) <= error_max


def test_base64_in_a_text_is_near_o200k() -> None:
    """Random base64 is estimated to 12 %, hexadecimal to 20 %."""
    count = exact_counter()
    raw = random.Random(3).randbytes(6_000)
    for text, error_max in ((base64.b64encode(raw).decode(), 0.12), (raw.hex(), 0.20)):
        assert abs(estimate_text(text) / count(text) - 1) <= error_max
