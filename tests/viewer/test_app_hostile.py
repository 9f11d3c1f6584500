"""What a log holds is shown and never acts: no element, no attribute, no script, no flood."""

import base64
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("starlette", reason="needs the extra viewer")
pytest.importorskip("jinja2", reason="needs the extra viewer")

from minutebook.cli.harmless import HARMFUL, harmless
from minutebook.messages import (
    ImagePart,
    MediaUrl,
    Message,
    TextPart,
    ThinkPart,
    assistant,
    call,
    replace,
    tool,
    user,
)
from tests.cases import case
from tests.viewer.sessions import write_log
from tests.viewer.support import Browser
from tests.wild import WILD

PAGES = ("", "/log/now", "/log/now?q=a", "/m/1", "/m/2", "/m/3")
PAYLOADS = st.sampled_from(
    [
        "<script>document.title='XSS'</script>",
        "<img src=x onerror=alert(1)>",
        '" onmouseover="alert(1)',
        "' onfocus='alert(1)' autofocus='",
        "</pre></article></script><script>1</script>",
        "<!-- ",
        "]]>",
        "&lt;script&gt;",
        "{{ 7 * 7 }}",
        "{% raw %}",
        "javascript:alert(1)",
        "[a](javascript:alert(1))",
        "![i](https://elsewhere.example/x.png)",
        "\x1b]0;title\x07",
        "\u202egnp.exe",
        "\u2028",
        "\x00",
        "\ud800",
        "```\n<b>",
        "<svg/onload=alert(1)>",
        "\U000e0041",
    ]
)
TEXTS = st.lists(st.one_of(PAYLOADS, st.text(max_size=20)), min_size=1, max_size=4).map("".join)


def conversation(text: str) -> list[Message]:
    """Put a text wherever a conversation can hold one."""
    encodable = text.encode("utf-8", "replace").decode()
    return [
        replace(user(encodable), seq=1, name=encodable),
        replace(
            assistant(
                (ThinkPart(encodable), TextPart(encodable)),
                tool_calls=[
                    call(encodable, encodable, encodable),
                    call("c", "run", json.dumps({encodable: encodable})),
                ],
            ),
            seq=2,
        ),
        replace(tool(encodable, encodable), seq=3),
        replace(user(ImagePart(MediaUrl(encodable))), seq=4),
        Message(role="narrator", content=encodable, origin=encodable, elided=encodable, seq=5),
    ]


def hostile_session(root: Path, text: str) -> Browser:
    """Make a session of a text, which is its title and its agent too."""
    folder = write_log(root / "s", *conversation(text))
    special = [
        {"role": "_system_prompt", "content": text},
        {"role": "_checkpoint", "id": 1, "content": text, "label": text},
        {"role": "_compaction", "id": text, "content": text, "trigger": text, "steps": [text],
         "focus": text, "model": text, "made": [1], "checks": {text: [text]},
         "usage": {text: 1}, "parent": {"number": 1}},
        {"role": "_usage", "token_count": 5, "content": text, "model": text},
    ]  # fmt: skip
    with (folder / "context.jsonl").open("ab") as log:
        log.write("".join(json.dumps(one) + "\n" for one in special).encode())
    (folder / "context_1.jsonl").write_bytes((folder / "context.jsonl").read_bytes())
    about = {"id": "s", "title": text, "agent": text, "model": text, "window": 9_000}
    (folder / "session.json").write_text(json.dumps(about), encoding="utf-8")
    return Browser(root, allow_write=True)


def pages_of(browser: Browser) -> dict[str, Any]:
    """Ask for every page of a session, and for the list."""
    found = {address: browser.session(address) for address in PAGES}
    found |= {"/": browser.get("/"), "log 1": browser.session("/log/1")}
    for link in {one for one in found[""].page.attributes("href") if "/compaction?" in one}:
        found["compaction"] = browser.get(link)
    found["revert"] = browser.session("/revert?to=1")
    return found


@settings(max_examples=30)
@given(text=TEXTS)
def test_no_stored_text_leaves_unescaped(text: str) -> None:
    """Each page has the elements that it has for a harmless text, whatever the text is."""
    with TemporaryDirectory() as folder:
        for name, answer in pages_of(hostile_session(Path(folder), text)).items():
            assert answer.status == 200, name
            page = answer.page
            page.check()
            assert not HARMFUL.search(answer.text)
            assert not [found for found in page.attributes("href") if "script:" in found]


@settings(max_examples=50)
@given(text=TEXTS)
def test_the_whole_text_is_there_to_be_read(text: str) -> None:
    """As it was written, but for what could steer a reader: that is made visible."""
    with TemporaryDirectory() as folder:
        browser = hostile_session(Path(folder), text)
        stored = text.encode("utf-8", "replace").decode()

        shown = browser.session("/m/1").page.text

        # HTML knows one kind of line end.
        assert harmless(stored).replace("\r", "\n") in shown


@settings(max_examples=30)
@given(data=WILD)
def test_any_bytes_give_pages(data: bytes) -> None:
    """A log of anything opens, and its pages hold."""
    with TemporaryDirectory() as folder:
        path = Path(folder, "s")
        path.mkdir()
        (path / "context.jsonl").write_bytes(data)
        browser = Browser(path)
        seqs = {1}
        answer = browser.session()
        for address in ("", "/log/now", "/log/now?q=a", *(f"/m/{seq}" for seq in seqs)):
            answer = browser.session(address)
            assert answer.status in {200, 404, 409}
            answer.page.check()
        links = {one for one in browser.session().page.attributes("href") if one.startswith("/s/")}
        for link in sorted(links)[:10]:
            assert browser.get(link).status in {200, 404, 409}


def test_c120_script_in_stored_text_does_not_run(tmp_path: Path) -> None:
    """Case C120: no payload becomes an element, an attribute, a link, or a picture."""
    one = case("C120")
    folder = tmp_path / "s"
    folder.mkdir()
    (folder / "context.jsonl").write_bytes(one.log())
    first = json.loads(one.raw().split(b"\n")[0])
    about = {"id": first["id"], "title": first["title"], "agent": first["cwd"]}
    (folder / "session.json").write_text(json.dumps(about), encoding="utf-8")
    browser = Browser(tmp_path)

    answers = [browser.get("/"), *(browser.session(address) for address in (*PAGES, "/m/4"))]

    for answer in answers:
        assert answer.status == 200
        page = answer.page
        # 1. and 2. Escaped, and no link comes from a text.
        page.check()
        assert "XSS" in page.text
        assert "<img src=x" not in answer.text
        assert "<script>document" not in answer.text
        # 3. The policy allows nothing inside of the page and nothing from elsewhere.
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        # 4. A drawing is no picture.
        assert page.attributes("src") == ["/static/viewer.js"]
    assert browser.session("/picture?seq=4&part=0").status == 404


def test_a_picture_comes_with_its_type_and_as_nothing_else(tmp_path: Path) -> None:
    """From an address of ours; a page never holds one inside."""
    data = base64.b64encode(b"\x89PNG\r\n\x1a\n<script>").decode()
    parts = (TextPart("see"), ImagePart(MediaUrl(f"data:image/png;base64,{data}")))
    browser = Browser(write_log(tmp_path / "s", user(parts)))
    (source,) = [found for found in browser.session("/log/now").page.attributes("src")
                 if "picture" in found]  # fmt: skip

    answer = browser.get(source)

    assert answer.headers["content-type"] == "image/png"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.body == b"\x89PNG\r\n\x1a\n<script>"
    assert data not in browser.session("/log/now").text


PAGE_BYTES_MAX = 3_000_000


def test_a_line_of_ten_megabytes_does_not_flood_a_page(tmp_path: Path) -> None:
    """It is cut on pages of many messages, and can be read part by part on its own."""
    text = "<b>&" * 2_500_000
    messages = [user("a"), tool("c", text), assistant("b")]
    browser = Browser(write_log(tmp_path / "s", *messages))

    for address in ("", "/log/now", "/m/2", "/m/2?at=9800000", "/log/now?q=zzz"):
        answer = browser.session(address)
        assert answer.status == 200
        assert len(answer.body) < PAGE_BYTES_MAX
        answer.page.check()
    assert 'rel="next"' in browser.session("/m/2").text
    assert "9,980,000 more characters" in browser.session("/log/now").page.text


def test_no_field_floods_a_page(tmp_path: Path) -> None:
    """Titles, roles, labels, ids: of each a page has as much as one reads."""
    found = pages_of(hostile_session(tmp_path, "<b> " * 200_000))

    for name, answer in found.items():
        assert answer.status == 200
        assert len(answer.body) < PAGE_BYTES_MAX, name


def test_very_many_long_messages_do_not_flood_a_page(tmp_path: Path) -> None:
    """A page has a bound as a whole."""
    messages = [user("<" * 30_000) for _ in range(100)]
    answer = Browser(write_log(tmp_path / "s", *messages)).session("/log/now")

    assert len(answer.body) < 6_000_000
    assert answer.text.count('class="message"') == 100


@pytest.mark.parametrize("address", ["", "/log/now", "/log/now?from=9950", "/log/now?from=5000",
                                     "/log/now?q=needle", "/m/9999"])  # fmt: skip
def test_a_session_of_ten_thousand_messages_has_small_pages(large: Browser, address: str) -> None:
    """Whatever part of it is looked at."""
    answer = large.session(address)

    assert answer.status == 200
    assert len(answer.body) < 500_000
    assert answer.text.count("<article") <= 100
    answer.page.check()


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Browser:
    folder = tmp_path_factory.mktemp("large") / "s"
    messages = [
        replace(user(f"needle {at}") if at % 500 == 0 else assistant(f"reply {at} " * 20), seq=at)
        for at in range(1, 10_001)
    ]
    return Browser(write_log(folder, *messages))


def test_every_page_of_a_long_session_can_be_reached(large: Browser) -> None:
    """By the links to the next one, each message once."""
    address, seen = "/log/now", 0
    numbers: list[str] = []
    while True:
        page = large.session(address).page
        seen += 1
        numbers += [found["id"] for tag, found in page.elements if tag == "article"]
        following = [found["href"] for _, found in page.elements if found.get("rel") == "next"]
        if not following or seen > 100:
            break
        address = following[0].removeprefix(f"/s/{large.key}")
    assert numbers == [f"m{seq}" for seq in range(1, 10_001)]
