"""A class on a person's desk: groups of answers, corrections in their file, and who may ask for them."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.client import HTTPConnection
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from proctor.examining.result import Explanation, Result
from proctor.grading.journal import GradedSubmission
from proctor.points import corrections
from proctor.report.write import write_reports
from proctor.review.code import CHANGED, CUT, NOTHING, code_of
from proctor.review.desk import Desk, Refused
from proctor.review.groups import GradedClass
from proctor.review.server import TOKEN, ReviewServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

EVIL = "<script>document.title = 'gone'</script><img src=x onerror=\"document.title='gone'\">"
NAME = "<img src=x onerror=\"document.title='gone'\">"  # a folder may be called so
CODE = "def helper(x):\n    return 3 * x\n\n\ndef double(x):\n    # <b>thrice</b>\n    return helper(x)\n"
TRIPLED = (Explanation("You triple x.", "Two is enough."),)


@pytest.fixture
def results(tmp_path: Path, sample: Any) -> Path:
    """Five students: three who triple, one who was stopped, one who is right; nobody began the last exercise."""
    names = [exercise.name for exercise in sample.assignment().exercises]

    def student(name: str, first: Result) -> GradedSubmission:
        others = [Result(n, "passed", 1.0, 2, 2) for n in names[1:-1]]
        return GradedSubmission(name, "d", (first, *others, Result(names[-1], "not_started", 0, 0, 2)), (), CODE)

    wrong = Result(names[0], "not_yet", 0.5, 1, 2, ("tripled",), TRIPLED, evidence=(EVIL,))
    raised = Explanation(f"Your code raised KeyError at line 3: `{EVIL}`.")
    stopped = Result(names[0], "stopped", 0.0, 0, 2, (), (raised,))
    right = Result(names[0], "passed", 1.0, 2, 2)
    of = {"ann": wrong, "ben": stopped, "cleo": right, "dan": wrong, NAME: wrong}
    write_reports(tmp_path, sample.assignment(), [student(name, first) for name, first in of.items()])
    return tmp_path


@pytest.fixture
def desk(results: Path) -> Desk:
    return Desk(results, GradedClass(results), {"double": 2.0, "shifted": 1.0})


# ---- groups


def test_a_page_that_is_older_than_the_results_says_so(desk: Desk, results: Path, sample: Any) -> None:
    """Answers are read from the results when somebody looks: those of a new run may be anybody's."""
    group = next(group for group in desk.overview()["exercises"][0]["groups"] if group["count"] == 3)
    assert desk.answer("double", group["key"], 1)["student"] == "dan"
    (results / "marked.jsonl").write_bytes((results / "marked.jsonl").read_bytes().replace(b'"ann"', b'"zoe-ann"'))
    for at in range(3):
        with pytest.raises(ValueError, match="graded again since this page was opened"):
            desk.answer("double", group["key"], at)
        with pytest.raises(ValueError, match="graded again since this page was opened"):
            desk.correct("double", group["key"], at, "1", "")
    with pytest.raises(ValueError, match="graded again since this page was opened"):
        desk.correct_group("double", group["key"], "1", "")
    assert not (results / "corrections.csv").exists()


def test_the_same_students_graded_again_are_other_results(desk: Desk, results: Path) -> None:
    """Who is there says nothing: an exercise may have been mended, and the groups with it."""
    group = next(group for group in desk.overview()["exercises"][0]["groups"] if group["count"] == 3)
    content = (results / "marked.jsonl").read_bytes()
    (results / "marked.new").write_bytes(content)
    (results / "marked.new").replace(results / "marked.jsonl")
    with pytest.raises(ValueError, match="graded again since this page was opened"):
        desk.answer("double", group["key"], 0)
    with pytest.raises(ValueError, match="graded again since this page was opened"):
        desk.correct_group("double", group["key"], "1", "")


def test_answers_are_grouped_by_what_is_wrong_with_them(desk: Desk) -> None:
    found = desk.overview()
    assert (found["students"], found["corrections"]) == (5, 0)
    first = found["exercises"][0]
    assert (first["name"], first["worth"]) == ("double", 2.0)
    assert [(g["words"], g["count"]) for g in first["groups"]] == [
        ("You triple x.", 3),
        ("Your code raised KeyError.", 1),
        ("Passed", 1),
    ]
    last = list(json.loads(desk.graded.path.read_text("utf-8").splitlines()[0])["results"])[-1]["exercise"]
    assert last not in {e["name"] for e in found["exercises"]}, "what nobody began is not reviewed"


def test_an_answer_comes_with_its_card_its_code_and_its_points(desk: Desk) -> None:
    answer = desk.answer("double", "named tripled", 0)
    assert answer["student"] == "ann"
    assert "You triple x." in answer["card"]
    assert answer["code"] == CODE.replace("\n\n\ndef", "\n\ndef").strip()
    assert answer["mark"] == {
        "worth": 2.0,
        "verdict": "1",
        "points": "1",
        "given": "",
        "comment": "",
        "corrected": False,
    }
    assert "<script>" not in answer["card"]
    with pytest.raises(Refused, match="this group has 3 answers"):
        desk.answer("double", "named tripled", 3)
    with pytest.raises(Refused, match="there is no such group"):
        desk.answer("double", "named nothing", 0)


def test_damaged_and_missing_results_are_said_to_be(results: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        GradedClass(tmp_path / "nowhere")
    (results / "marked.jsonl").write_text('{"student": 1}\n')
    with pytest.raises(ValueError, match=r"marked\.jsonl is damaged .* Grade again to write it anew\."):
        GradedClass(results)


# ---- code


def test_code_that_the_results_do_not_keep(tmp_path: Path) -> None:
    from proctor.marking.submissions import collect, digest

    long = GradedSubmission("ann", "", (), (), "x = 1\n" * 5000)
    assert code_of(long, "double", {}).note == CUT
    assert code_of(GradedSubmission("ann", "", (), (), "x = 1"), "double", {}).note == NOTHING
    (tmp_path / "ann.py").write_text(CODE)
    files = {one.student: one for one in collect(tmp_path).submissions}
    assert code_of(long, "double", files).note == CHANGED
    same = GradedSubmission("ann", digest(files["ann"].load()), ())
    assert code_of(same, "double", files).note == ""
    assert code_of(same, "double", files).text.startswith("def helper(x):")


# ---- corrections


def test_a_correction_is_written_at_once_and_can_be_taken_back(desk: Desk, results: Path) -> None:
    saved = desk.correct("double", "named tripled", 1, " +0.5 ", "The idea is right.\nAlmost.")
    assert saved["mark"]["points"] == "1.5"
    assert saved["corrected"] == saved["corrections"] == 1
    path = results / corrections.NAME
    assert [(c.folder, c.exercise, c.points) for c in corrections.read(path)] == [("dan", "double", "+0.5")]
    assert desk.answer("double", "named tripled", 1)["mark"]["comment"] == "The idea is right.\nAlmost."
    taken = desk.correct("double", "named tripled", 1, "", "")
    assert (taken["mark"]["points"], taken["corrections"]) == ("1", 0)


def test_who_edits_the_file_beside_the_page_loses_nothing(desk: Desk, results: Path) -> None:
    path = results / corrections.NAME
    path.write_text("folder,exercise,points,comment,by\nben,double,0.25,tried,me\nann,double,,look,me\n")
    desk.correct("double", "named tripled", 0, "2", "look")
    lines = path.read_text("utf-8").splitlines()
    assert lines == ["folder,exercise,points,comment,by", "ben,double,0.25,tried,me", "ann,double,2,look,me"]
    path.write_text("folder,exercise,points,comment\nben,double,many,\n")
    with pytest.raises(Refused, match="line 2: 'many' is no number of points"):
        desk.correct("double", "named tripled", 0, "1", "")
    assert "many" in path.read_text("utf-8"), "a file that cannot be read is not written over"


def test_a_whole_group_at_once_but_for_those_already_corrected(desk: Desk, results: Path) -> None:
    desk.correct("double", "named tripled", 0, "2", "")
    assert desk.correct_group("double", "named tripled", "0.5", "Two, not three.")["changed"] == 2
    found = corrections.read(results / corrections.NAME)
    assert {c.folder: c.points for c in found} == {"ann": "2", "dan": "0.5", NAME: "0.5"}
    with pytest.raises(Refused, match="neither points nor a comment"):
        desk.correct_group("double", "named tripled", "", "")


@pytest.mark.parametrize(
    ("points", "comment", "why"),
    [("3", "", "double is worth 2, and 3 is more"), ("a lot", "", "no number of points"), ("", "x" * 5001, "5,000")],
)
def test_what_is_no_correction_is_refused(desk: Desk, results: Path, points: str, comment: str, why: str) -> None:
    with pytest.raises(Refused, match=why):
        desk.correct("double", "named tripled", 0, points, comment)
    assert not (results / corrections.NAME).exists()


# ---- who may ask


@pytest.fixture
def server(desk: Desk) -> Iterator[ReviewServer]:
    with ReviewServer(desk, 0, "A sample") as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def asked(server: ReviewServer, method: str, path: str, body: object = None, **headers: str) -> tuple[int, str]:
    connection = HTTPConnection("127.0.0.1", server.server_port)
    sent = None if body is None else body if isinstance(body, bytes) else json.dumps(body).encode()
    connection.request(method, path, sent, {name.replace("_", "-"): value for name, value in headers.items()})
    answer = connection.getresponse()
    text = answer.read().decode()
    connection.close()
    return answer.status, text


def right(server: ReviewServer) -> dict[str, str]:
    return {TOKEN: server.token, "Origin": f"http://127.0.0.1:{server.server_port}"}


def test_the_page_is_for_who_knows_the_token(server: ReviewServer) -> None:
    assert server.server_address[0] == "127.0.0.1"
    status, page = asked(server, "GET", f"/?token={server.token}")
    assert status == 200
    assert "<title>A sample: review</title>" in page
    assert server.token not in page
    for path in ("/", "/?token=", "/?token=wrong", "/?token=%ff"):
        status, said = asked(server, "GET", path)
        assert (status, "open the address that the terminal shows" in said) == (403, True)
    assert asked(server, "GET", f"/../etc/passwd?token={server.token}")[0] == 404


def test_other_pages_and_other_names_of_this_machine_are_refused(server: ReviewServer, results: Path) -> None:
    change = {"exercise": "double", "key": "named tripled", "at": 0, "points": "2", "comment": ""}
    fine = right(server)
    for wrong in (
        {**fine, "Origin": "http://evil.example"},
        {**fine, "Origin": "null"},
        {TOKEN: server.token},
        {**fine, "Host": "evil.example"},
        {**fine, "Host": f"evil.example:{server.server_port}"},
        {**fine, TOKEN: "wrong"},
        {"Origin": fine["Origin"]},
    ):
        assert asked(server, "POST", "/correct", change, **wrong)[0] == 403, wrong
    assert asked(server, "GET", f"/?token={server.token}", Host="evil.example")[0] == 403
    assert not (results / corrections.NAME).exists()
    assert asked(server, "POST", "/correct", change, **fine)[0] == 200
    assert (results / corrections.NAME).exists()


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/nothing", {}, 404),
        ("/answer", {"exercise": "double"}, 400),
        ("/answer", {"exercise": "double", "key": "named tripled", "at": "0"}, 400),
        ("/answer", {"exercise": "double", "key": "named tripled", "at": 99}, 409),
        ("/answer", {"exercise": ["double"], "key": "named tripled", "at": 0}, 400),
        ("/overview", {"self": "x"}, 400),
        ("/overview", b"[" * 50_000, 400),
        ("/overview", b"\xff", 400),
        ("/overview", b"x" * 200_000, 400),
        ("/overview", [], 400),
    ],
)
def test_whatever_is_sent_has_an_answer(server: ReviewServer, path: str, body: object, status: int) -> None:
    found, said = asked(server, "POST", path, body, **right(server))
    assert found == status
    assert json.loads(said)["error"]
    assert asked(server, "POST", "/overview", {}, **right(server))[0] == 200


# ---- in a browser, by keyboard


@pytest.fixture
def page(server: ReviewServer, browser: Browser) -> Iterator[Page]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    trouble: list[str] = []
    elsewhere: list[str] = []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("request", lambda r: elsewhere.append(r.url) if f":{server.server_port}/" not in r.url else None)
    page.goto(server.address)
    page.wait_for_selector("[data-at='0.0.0']")
    yield page
    assert [text for text in trouble if "409" not in text] == [], "beside what was refused, and told on the page"
    assert elsewhere == []
    assert page.title() == "A sample: review"
    page.close()


def there(page: Page, at: str) -> None:
    page.wait_for_selector(f"[data-at='{at}']")


def said(page: Page, text: str) -> None:
    page.wait_for_function("text => document.getElementById('said').textContent.includes(text)", arg=text)


@pytest.mark.browser
def test_a_class_is_reviewed_by_keyboard_alone(page: Page, results: Path) -> None:
    assert page.locator("#student").inner_text() == "ann"
    assert "# <b>thrice</b>" in page.locator("#code").inner_text()
    page.keyboard.press("5")
    said(page, "Saved: ann has 1 of 2.")
    page.keyboard.press("j")
    there(page, "0.0.1")
    page.keyboard.press("c")
    page.keyboard.type("Two, not three: j and k are letters here.")
    page.keyboard.press("Control+Enter")
    said(page, "Saved: dan has 1 of 2.")
    page.keyboard.press("j")
    there(page, "0.0.2")
    assert page.locator("#student").inner_text() == NAME
    page.keyboard.press("s")
    there(page, "0.1.0")
    page.keyboard.press("p")
    page.keyboard.type("+0.25")
    page.keyboard.press("Escape")
    page.keyboard.press("k")  # what was written is saved before it goes on
    there(page, "0.0.2")
    page.keyboard.press("f")
    said(page, "has 2 of 2.")
    page.keyboard.press("u")
    said(page, "Taken back")
    page.keyboard.press("n")
    there(page, "1.0.0")
    page.keyboard.press("?")
    assert page.get_by_role("heading", name="Keys").is_visible()
    page.keyboard.press("Escape")
    found = {c.folder: (c.points, c.comment) for c in corrections.read(results / corrections.NAME)}
    assert found == {
        "ann": ("1", ""),
        "dan": ("", "Two, not three: j and k are letters here."),
        "ben": ("+0.25", ""),
    }


@pytest.mark.browser
def test_a_group_is_corrected_after_a_question(page: Page, results: Path) -> None:
    page.keyboard.press("p")
    page.keyboard.type("0.5")
    page.keyboard.press("Escape")
    page.keyboard.press("a")
    assert page.locator("#sure-title").inner_text().startswith("Save 0.5 points for all 3 answers of this group")
    page.keyboard.press("y")
    said(page, "Saved for 3 answers.")
    assert len(corrections.read(results / corrections.NAME)) == 3
    page.keyboard.press("p")
    page.keyboard.type("7")
    page.keyboard.press("Control+Enter")
    page.wait_for_selector("#said.bad")
    assert "is more" in page.locator("#said").inner_text()
    page.keyboard.press("p")
    page.keyboard.type("1")
    page.keyboard.press("Control+Enter")
    said(page, "Saved: ann has 1 of 2.")


@pytest.mark.browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_fits(server: ReviewServer, browser: Browser, scheme: Any, width: int) -> None:
    page = browser.new_page(viewport={"width": width, "height": 844}, color_scheme=scheme)
    page.goto(server.address)
    there(page, "0.0.0")
    assert page.evaluate("document.documentElement.dataset.theme") == scheme
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
