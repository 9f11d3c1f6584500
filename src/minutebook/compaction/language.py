"""Guess which language people write, by its script or its small words. Pure.

The rule of a summary is "the language of the user's messages"; the guess is only told
beside it, for parts of a conversation in which no user says anything. Where it cannot be
told there is no guess: a wrong one is worse than none.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from minutebook.messages import Message
from minutebook.turns import is_real_user

SAMPLE_CHARS = 2_000
"""How much of one message counts: a pasted log must not outvote what people say."""

SAMPLE_MESSAGES = 200
"""How many of the newest messages count: people change their language."""

LETTERS_MIN = 8
"""Fewer letters of a script than this say nothing."""

WORDS_MIN = 2
"""So many small words a language needs at least."""

LEAD = 1.25
"""The best language has so many times the words of the next, or there is no guess: Portuguese
and Spanish, Danish and Swedish share many."""

WIDE = frozenset(("Chinese", "Japanese"))
"""Languages whose length is counted in characters, for they have no spaces."""

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.DOTALL)
_NAME = re.compile(r"\S*[/_\\@<>{}=]\S*|\S+\.\S+")
_WORD = re.compile(r"[^\W\d_]+")

_KANA = re.compile(r"[\u3040-\u30ff]")
_HAN = re.compile(r"[\u3400-\u9fff]")
_SCRIPTS = (
    ("Korean", re.compile(r"[\uac00-\ud7af]")),
    ("Russian", re.compile(r"[\u0400-\u04ff]")),
    ("Arabic", re.compile(r"[\u0600-\u06ff]")),
    ("Hebrew", re.compile(r"[\u0590-\u05ff]")),
    ("Greek", re.compile(r"[\u0370-\u03ff]")),
    ("Thai", re.compile(r"[\u0e00-\u0e7f]")),
    ("Hindi", re.compile(r"[\u0900-\u097f]")),
)
"""Scripts of mostly one language, by that language."""

_OWN_LETTERS = (
    ("Russian", "Ukrainian", re.compile(r"[іїєґІЇЄҐ]")),
    ("Arabic", "Persian", re.compile(r"[پچژگ]")),
)
"""A script's first language, one that shares it, and letters that only the latter has."""

_SMALL_WORDS = {
    "English": "the and is are was to of in it that this with for on not you we be have do can"
    " should please what how why when but if so my your now there from",
    "Portuguese": "o os um uma não é em do da dos das com ao mais para por que se já está isso"
    " você também foi são mas como quando preciso pelo pela",
    "Spanish": "el la los las un una no es en del con al más para por que se ya está eso usted"
    " también fue son pero como cuando necesito y lo hay",
    "French": "le la les un une des ne pas est en du avec au plus pour par que qui se déjà cela"
    " vous aussi été sont mais comme quand et je nous il dans sur",
    "German": "der die das ein eine nicht ist in den mit auf mehr für von dass wir schon sie auch"
    " war sind aber wie wenn und ich bitte zu es im noch",
    "Italian": "il lo la gli un una non è in del della con al più per che si già questo anche"
    " sono ma come quando e ho devo nel di",
    "Dutch": "de het een niet is in van met op meer voor dat wij al ook was zijn maar als en ik"
    " je te er naar bij",
    "Polish": "nie jest w na z do że się już to także był są ale jak kiedy i proszę dla po od",
    "Turkish": "bir ve bu değil için ile daha çok ama gibi ne de da mi mı var yok olarak şu",
    "Swedish": "en ett inte är i av med på mer för att vi redan också var men som när och jag det"
    " till från",
    "Czech": "ne je v na s do že se už to také byl jsou ale jak když a prosím pro po od",
    "Vietnamese": "không là của và có cho với một các được này đã tôi trong để những",
    "Indonesian": "yang dan tidak ini itu untuk dengan di ke dari ada saya bisa akan pada juga",
}
_SMALL = {name: frozenset(words.split()) for name, words in _SMALL_WORDS.items()}


def language_of(messages: Sequence[Message]) -> str:
    """Name the language of the people in a conversation, in English; empty if it isn't clear.

    Without a word of theirs, that of the replies.
    """
    for wanted in (is_real_user, _is_reply):
        texts = [message.text[:SAMPLE_CHARS] for message in messages if wanted(message)]
        language = guess(texts[-SAMPLE_MESSAGES:])
        if language:
            return language
    return ""


def guess(texts: Iterable[str]) -> str:
    """Name the language of some texts, in English; empty if it isn't clear. Code is left out."""
    text = _NAME.sub(" ", _CODE.sub(" ", "\n".join(texts)))
    words = [word.lower() for word in _WORD.findall(text)]
    letters = sum(map(len, words))
    by_script = _by_script(text, letters)
    return by_script or _by_words(words)


def _by_script(text: str, letters: int) -> str:
    """Name the language of the script that makes up a good part of the letters.

    People mix Latin terms into every other script, so a quarter is enough.
    """
    kana, han = len(_KANA.findall(text)), len(_HAN.findall(text))
    if max(kana, han) >= LETTERS_MIN // 2 and 4 * (kana + han) >= letters:
        return "Japanese" if 4 * kana >= han else "Chinese"
    for language, pattern in _SCRIPTS:
        found = len(pattern.findall(text))
        if found >= LETTERS_MIN and 4 * found >= letters:
            return next(
                (
                    other
                    for first, other, own in _OWN_LETTERS
                    if first == language and own.search(text)
                ),
                language,
            )
    return ""


def _by_words(words: Sequence[str]) -> str:
    """Name the language whose small words are the most, by a clear lead."""
    counts = sorted(
        ((sum(word in small for word in words), name) for name, small in _SMALL.items()),
        reverse=True,
    )
    (most, language), (next_most, _) = counts[0], counts[1]
    return language if most >= WORDS_MIN and most >= LEAD * next_most else ""


def _is_reply(message: Message) -> bool:
    return message.role == "assistant"
