# SPDX-License-Identifier: MIT
"""The benchmark measures what it says: every client reads the scripted answer, or is marked.

Nothing is timed here. The clients read tiny answers from the benchmark's own server; tables
are made from made-up numbers.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Dict, Iterator, List

import pytest

ROOT = Path(__file__).resolve().parents[2]


def load() -> Any:
    """Load the script as a module; the search path stays as it was."""
    spec = importlib.util.spec_from_file_location("bench", ROOT / "scripts" / "bench.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    before = list(sys.path)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path[:] = before
    return module


bench = load()
answers, clients = sys.modules["_bench_server"], sys.modules["_bench_clients"]
KINDS = bench.installed(peers=True)


@pytest.fixture(scope="module")
def lab() -> Iterator[Any]:
    """The benchmark's server in a process of its own."""
    with bench.Lab(peers=False) as found:
        yield found
    found.process.stdout.close()


@pytest.fixture
def own_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No proxy of the machine between client and server."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")


def run(us: float = 1.0, said: str = "right", fault: str = "") -> Dict[str, Any]:
    """A made-up measurement of 1,000 events."""
    return {"cpu": us / 1000, "wall": 1.0, "rss": 30.0, "said": said, "fault": fault}


def row(us: float, *others: Dict[str, Any], name: str = "x") -> Dict[str, Any]:
    found: Dict[str, Any] = bench.summary([run(us), *others], 1000, ("right", "less"), name)
    return found


# -- answers and clients -----------------------------------------------------------------


@pytest.mark.parametrize("frames, said", [
    (answers.text_answer(2), (" word0 word1", "", [])),
    (answers.reasoning_answer(4), (" word0 word1", " idea0 idea1", [])),
    (answers.calls_answer(3, 2), ("", "", ['{"text":"abcdeabcde"}', '{"text":"abcde"}'])),
])
def test_expected_digest_is_that_of_what_the_answer_says(frames: List[bytes], said: Any) -> None:
    """The yardstick itself is right, for text, reasoning and interleaved calls."""
    assert bench.expected(frames) == bench.digest(*said)
    assert bench.expected(frames, reasoning=False) == bench.digest(said[0], "", said[2])


def test_answers_say_different_things() -> None:
    """Mixed-up text, reasoning and arguments have another digest."""
    assert bench.digest("a", "", []) != bench.digest("", "a", []) != bench.digest("", "", ["a"])


@pytest.mark.parametrize("answer", ["small", "small-reasoning", "small-calls"])
@pytest.mark.parametrize("name", KINDS)
def test_client_reads_a_tiny_answer_exactly(
    lab: Any, own_environment: None, name: str, answer: str
) -> None:
    """Every installed client gives the scripted result, or its row says that it does not."""
    asked = (name, lab.base["http"], answer, "chunked", "small")
    # Other libraries leave threads behind: in a process of their own, as the tables have them.
    found = bench.work(*asked) if name in clients.OWN else bench.measure("work", *asked)
    assert found["fault"] == ""
    frames = bench.ANSWERS[answer]()
    right = (bench.expected(frames), bench.expected(frames, reasoning=False))
    note = bench.summary([found], len(frames), right, name)["note"]
    lossy = name == "langchain-openai" and answer == "small-reasoning"
    assert note == ("reasoning lost" if lossy else "")


@pytest.mark.parametrize("framing, scheme", sorted({s[1:] for s in bench.SCENARIOS.values()}))
def test_client_stream_reads_every_framing_exactly(
    lab: Any, own_environment: None, framing: str, scheme: str
) -> None:
    """streamcore reads the answer in each framing of the server."""
    found = bench.work("Client.stream", lab.base[scheme], "small", framing, "small")
    assert (found["fault"], found["said"]) == ("", bench.expected(bench.ANSWERS["small"]()))


def test_bare_loop_loses_a_crlf_answer_and_is_marked(lab: Any, own_environment: None) -> None:
    """The bare loop cannot read CRLF, and its row says so."""
    found = bench.work("bare loop", lab.base["http"], "small", "crlf", "small")
    right = (bench.expected(bench.ANSWERS["small"]()), "")
    assert bench.summary([found], 23, right, "bare loop")["note"] == "WRONG RESULT"


@pytest.mark.parametrize("framing", answers.PACED)
@pytest.mark.parametrize("name", ["bare loop", "Client.stream"])
def test_paced_events_are_all_counted(
    lab: Any, own_environment: None, name: str, framing: str
) -> None:
    """Events sent one by one arrive, each with the time of its sending."""
    found = bench.paced(name, lab.base["http"], "small", framing)
    assert found["events"] == 20
    assert 0 < found["p50_ms"] <= found["p99_ms"] < 30_000


@pytest.mark.parametrize("name", [clients.TIMED, "Client.stream"])
def test_streams_read_at_once_count_their_events(
    lab: Any, own_environment: None, name: str
) -> None:
    """Each stream in a thread of its own gets all of its events."""
    found = bench.streams(name, lab.base["http"], "small", "spread", "3")
    assert found["events"] == 20 and found["cpu_us"] > 0


def test_paced_line_says_when_events_are_missing() -> None:
    """A client that loses events is marked, not shown as cheap."""
    figures = {"events": 20, "us_per_event": 50.0, "median_us": 51.0, "to_bare": 1.1}
    assert "EVENTS" not in bench.paced_line("x", figures, 20)
    assert "× 1.10  20 OF 400 EVENTS" in bench.paced_line("x", figures, 400)


def test_summary_has_the_least_and_the_median_cost() -> None:
    """One disturbed run changes the median, not the minimum."""
    found = row(1.0, run(3.0), run(9.0))
    assert (found["us_per_event"], found["median_us"]) == (1.0, 3.0)


def test_padding_changes_no_word() -> None:
    """A padded answer has the same content, and its payloads differ in more than the text."""
    plain = answers.calls_answer(20, 2)
    assert bench.expected(answers.padded(plain)) == bench.expected(plain)
    assert all(a != b for a, b in zip(answers.padded(plain)[:-1], plain))


def test_measurement_in_a_process_of_its_own_comes_back(lab: Any) -> None:
    """What a worker prints is what the tables get."""
    found = bench.measure("work", "bare loop", lab.base["http"], "small", "chunked", "small")
    assert found["said"] == bench.expected(bench.ANSWERS["small"]())
    assert found["cpu"] > 0 and found["rss"] > 1


# -- tables ------------------------------------------------------------------------------


@pytest.mark.parametrize("others, note", [
    ([run(said="right")], ""),
    ([run(said="less")], "WRONG RESULT"),
    ([run(said="other")], "WRONG RESULT"),
    ([run(said="", fault="ValueError: no")], "ValueError: no"),
])
def test_summary_marks_a_result_that_is_not_the_scripted_one(others: Any, note: str) -> None:
    """One wrong run marks the row."""
    assert row(1.0, *others)["note"] == note


def test_summary_says_that_reasoning_is_lost() -> None:
    """If only the reasoning is wrong, the row names the reasoning."""
    found = bench.summary([run(said="less")], 1000, ("right", "less"), "x")
    assert found["note"] == "reasoning lost" and not found["failed"]


def test_ratios_are_to_the_bare_loop_and_to_the_floor() -> None:
    """A row has both, as far as those two were measured and read right."""
    def ratios(**rows: Any) -> Any:
        named = {{"bare": bench.BARE, "floor": bench.FLOOR}.get(k, k): v for k, v in rows.items()}
        found = bench.with_ratios(named)["x"]
        return [found.get(key) for key in ("to_bare", "to_json")]

    assert ratios(bare=row(4), floor=row(2), x=row(6)) == pytest.approx([1.5, 3.0])
    assert ratios(bare=row(4), x=row(6)) == [pytest.approx(1.5), None]
    assert ratios(bare=row(4, run(said="no")), x=row(6)) == [None, None]
    assert ratios(bare=row(4), x=row(6, run(fault="no"))) == [None, None]


def made_up() -> Dict[str, Any]:
    """Two scenarios; the session file takes part in one, one library fails."""
    broken = row(9, run(fault="Boom: a|b"), name="litellm")
    return {
        "text": bench.with_ratios({
            bench.FLOOR: row(2), bench.BARE: row(4), "Client.stream": row(4.2),
            "Client.stream + session file": row(8), "litellm": broken,
        }),
        "calls": bench.with_ratios({
            bench.FLOOR: row(2), bench.BARE: row(4), "Client.stream": {**row(4.4), "rss_mb": 36.0},
            "litellm": {**row(1200), "note": "reasoning lost"},
        }),
    }


def test_scenario_text_shows_figures_ratios_and_notes() -> None:
    """A line a client: µs, × bare, × json, MB, what was wrong."""
    lines = bench.scenario_text("text", 1000, made_up()["text"]).splitlines()
    assert lines[0].startswith("text (1,000 events)")
    assert lines[3].split() == ["Client.stream", "4.20", "4.20", "1.05", "2.10", "30.0"]
    assert lines[5].split()[3:] == ["-", "-", "30.0", "Boom:", "a|b"]


def test_markdown_has_a_row_a_client_and_names_the_machine() -> None:
    """What goes into the README: figures, ratios, memory, versions, date, command."""
    table = bench.markdown_table(made_up(), "2 cores, Python 3.9.1", "2026-01-02", 5, "the command")
    lines = table.splitlines()
    assert lines[:7] == [
        "| CPU µs per event (× the bare loop) | text | calls | peak RSS, MB |",
        "|---|---|---|---|",
        "| json.loads only | 2 (0.50) | 2 (0.50) |  |",
        "| bare loop | 4 (1.00) | 4 (1.00) | 30 |",
        "| Client.stream | 4.2 (1.05) | 4.4 (1.10) | 30–36 |",
        "| Client.stream + session file | 8 (2.00) |  | 30 |",
        "| litellm | Boom: a\\|b | 1,200 (300.00), reasoning lost | 30 |",
    ]
    assert lines[7] == ""
    for words in ("Minima of 5", "2 cores, Python 3.9.1; 2026-01-02", "`the command`"):
        assert words in table


def test_readme_table_is_replaced_between_its_marks() -> None:
    """All else stays as it is; a second time changes nothing."""
    readme = f"before\n{bench.BEGIN}\nold\n{bench.END}\nafter\n"
    once = bench.replaced(readme, "| new |\n")
    assert once == f"before\n{bench.BEGIN}\n\n| new |\n\n{bench.END}\nafter\n"
    assert bench.replaced(once, "| new |\n") == once


@pytest.mark.parametrize("readme", ["", bench.BEGIN, bench.END, f"{bench.END} {bench.BEGIN}"])
def test_readme_without_marks_is_left_alone(readme: str) -> None:
    """A page without markers is not changed."""
    assert bench.replaced(readme, "x") is None


def test_stages_run_alone(lab: Any, own_environment: None) -> None:
    """Each stage reads the whole answer; the last one is the client's."""
    frames = answers.text_answer(20)
    with contextlib.ExitStack() as stack:
        stages = dict(bench.stages_of(f"{lab.base['http']}/small/chunked/v1", frames, stack))
        said = {name.split(":")[0]: run() for name, run in stages.items()}
    assert said["Client.stream"].text == "".join(f" word{i}" for i in range(20))
    assert list(said)[0].startswith("json.loads") and len(said) == 7


@pytest.mark.parametrize("spent, bound, marked", [
    ((1.0, 2.1), 2.2, False), ((1.0, 2.3), 2.2, True), ((1.0, 10.9), 11.0, False),
    ((1.0, 11.2), 11.0, True),
])
def test_growth_beyond_its_bound_is_marked(spent: Any, bound: float, marked: bool) -> None:
    """The ratio is of the whole time, and the line says when it is too much."""
    rows = [{**row(us), "events": 1000, "growth": "more"} for us in spent]
    bench.mark_growth(rows, bound)
    assert "ratio" not in rows[0]
    assert rows[1]["ratio"] == pytest.approx(spent[1])
    assert (f"MORE THAN {bound:g}" in bench.linear_line("x", rows[1])) is marked


def test_linear_series_grow_as_they_say() -> None:
    """Each doubling doubles its events, each tenfold is tenfold."""
    assert [series for series, _, _ in bench.LINEAR] == [
        ("call15k", "call30k", "call60k"), ("mb1", "mb10", "mb100")]
    assert [bound for _, _, bound in bench.LINEAR] == [2.2, 11.0]


def test_single_line_says_when_events_are_missing() -> None:
    """A client that loses events has no delay in the table."""
    figures = {"events": 20, "p50_ms": 0.1, "p99_ms": 0.2, "cpu_us": 50.0}
    assert "EVENTS" not in bench.single_line("x", figures, 20)
    assert "20 OF 400 EVENTS" in bench.single_line("x", figures, 400)


def test_main_scenarios_are_scenarios() -> None:
    """The README's columns exist, and are plain HTTP."""
    assert all(bench.SCENARIOS[name][1:] == ("chunked", "http") for name in bench.MAIN)


def test_peers_are_what_the_extra_installs() -> None:
    """Each library that can be measured comes with ``--peers``."""
    extra = {name.replace("-", "_") for name in bench._venv.requirements("bench")}
    modules = {module for module, _ in bench.PEERS.values()} - {"sseclient"} | {"sseclient_py"}
    assert modules | {"orjson"} <= extra


def test_versions_name_the_machine_and_what_was_measured() -> None:
    """Cores, Python, requests and urllib3 are always there."""
    text = bench.versions_text(["bare loop"])
    for word in ("cores", "Python 3.", "requests ", "urllib3 "):
        assert word in text


# -- the command -------------------------------------------------------------------------


def test_help_makes_nothing(tmp_path: Path) -> None:
    """``--help`` says what there is, and no environment is made for it."""
    (tmp_path / "scripts").mkdir()
    for path in (*ROOT.glob("scripts/*.py"), ROOT / "setup.cfg"):
        shutil.copy(path, tmp_path / path.relative_to(ROOT))
    done = subprocess.run(
        [sys.executable, str(tmp_path / "scripts" / "bench.py"), "--help"],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"--peers" in done.stdout and b"--readme" in done.stdout
    assert not (tmp_path / ".venv").exists()


def test_figures_are_saved_as_json(tmp_path: Path) -> None:
    """``--json`` has all that the tables show."""
    bench.save({"table": made_up()}, str(tmp_path / "x.json"))
    assert json.loads((tmp_path / "x.json").read_text("utf-8")) == {"table": made_up()}


def test_words_choose_scenarios() -> None:
    """Options are read as they are written."""
    args = bench.arguments().parse_args(["--here", "-k", "CRLF", "--single"])
    assert (args.here, args.k, args.do_single, args.repeat) == (True, "CRLF", True, 9)


@pytest.mark.parametrize("argv, words", [
    (["--repeat", "0"], "--repeat"), (["-k", "nosuch"], "no scenario"),
    (["--readme", "-k", "text"], "whole table"),
])
def test_what_cannot_be_measured_is_said(
    argv: List[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Options that give an empty table are refused before anything is run or written."""
    with pytest.raises(SystemExit) as caught:
        bench.main(["--here", *argv])
    assert words in f"{caught.value.code}{capsys.readouterr().err}"


def test_targets_are_judged_where_they_were_measured() -> None:
    """Against another client, or another scenario; a failed row judges nothing."""
    def some(**costs: float) -> Dict[str, Any]:
        return {name.replace("_", " "): row(us) for name, us in costs.items()}

    rows = {"text": {**some(bare_loop=4.0), "Client.stream": row(4.8)},
            "text, TLS": {"Client.stream": row(7.0)},
            "reasoning + text": {**some(bare_loop=4.0), "Client.stream": row(3.6),
                                 "openai SDK": row(99.0, run(9.0, fault="broken"))}}
    said = bench.targets_text(rows).splitlines()[2:]
    assert bench.targets_text({"text": {}}) == ""
    assert [line.split(" (")[0].strip() for line in said] == [
        "MISSED  text: Client.stream 1.200 × bare loop",
        "held    reasoning + text: Client.stream 0.900 × bare loop",
        "held    text, TLS: Client.stream 1.458 × text",
        "held    text: Client.stream +0.0 MB over the bare loop",
        "held    reasoning + text: Client.stream +0.0 MB over the bare loop",
    ]
