# SPDX-License-Identifier: MIT
"""The built-in tools: what they read, and that nothing outside their folder is ever read.

Confinement is shown in both ways a folder is read: relative to an open folder, and by paths
that are looked at before and after, as on Windows.
"""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path
from typing import Any, Callable, Iterator, List

import pytest

from streamcore.agent import AgentLimits
from streamcore.agent.tools import ToolError, ToolRegistry
from streamcore.cli.folder import (
    FILE, FOLDER, HAS_OPENAT, LINK, MAX_ENTRIES, OTHER, Folder, split_path,
)
from streamcore.cli.folder_tools import FolderTools
from streamcore.cli.folder_walk import MAX_FILE_BYTES, MAX_NAMES, MAX_SEARCH_BYTES

posix = pytest.mark.skipif(os.name != "posix", reason="links, FIFOs and devices as POSIX has them")
SECRET = "outside-secret"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a few files, and a secret outside of the folder."""
    (tmp_path / "secret.txt").write_text(SECRET)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "f.txt").write_text(SECRET)
    inside = tmp_path / "inside"
    (inside / "sub" / "deep").mkdir(parents=True)
    (inside / "a.txt").write_text("one\ntwo\nthree\n")
    (inside / "sub" / "b.py").write_text("x = 'two'\n")
    (inside / "sub" / "deep" / "c.py").write_text("Two\n")
    (inside / ".hidden").write_text("two\n")
    return inside


@pytest.fixture(params=[True, False], ids=["openat", "paths"])
def folder(request: Any, place: Path) -> Iterator[Folder]:
    """The folder, opened in each of the two ways."""
    if request.param and not HAS_OPENAT:
        pytest.skip("this system cannot open relative to a folder")
    with Folder(place, openat=request.param) as opened:
        yield opened


@pytest.fixture
def tools(folder: Folder) -> FolderTools:
    """The tools of the folder."""
    return FolderTools(folder)


def refused(function: Callable[..., Any], *args: Any, **kwargs: Any) -> str:
    """Return the message of a refusal; check that it has no secret and no absolute path."""
    with pytest.raises(ToolError) as caught:
        function(*args, **kwargs)
    assert SECRET not in str(caught.value)
    return str(caught.value)


# -- what is withheld ---------------------------------------------------------------------


@pytest.mark.parametrize("openat", [HAS_OPENAT, False])
def test_withheld_file_is_read_under_no_name(place: Path, openat: bool) -> None:
    """It is refused under its own name and under a hard link, and no search finds its text."""
    (place / "k.ini").write_text(f"api_key = {SECRET}\n")
    (place / "sub" / "alike.ini").write_text(f"api_key = {SECRET}\n")
    os.link(place / "k.ini", place / "sub" / "twin.txt")
    with Folder(place, openat=openat, withheld=[str(place / "k.ini")]) as folder:
        tools = FolderTools(folder)
        for name in ("k.ini", "./k.ini", "sub/twin.txt"):
            assert "withheld" in refused(tools.read_file, name)
        found = tools.search_text("api_key")
        assert SECRET in found and "2 files not searched: could not be read" in found
        assert found.startswith("sub/alike.ini:1:") and "twin" not in found


def test_withheld_file_may_come_and_be_replaced(place: Path, monkeypatch: Any) -> None:
    """The withheld path is absolute from the start, and is looked up at each opening."""
    monkeypatch.chdir(place)
    with Folder(place, withheld=["late.jsonl"]) as folder:
        tools = FolderTools(folder)
        monkeypatch.chdir(place / "sub")
        (place / "late.jsonl").write_text(SECRET)
        assert "withheld" in refused(tools.read_file, "late.jsonl")
        (place / "new").write_text(SECRET)
        os.replace(place / "new", place / "late.jsonl")
        assert "withheld" in refused(tools.read_file, "late.jsonl")
        assert tools.read_file("a.txt") == "one\ntwo\nthree"


@posix
def test_withheld_file_given_by_a_link(place: Path, tmp_path: Path) -> None:
    """The file that the link leads to is the one that is withheld."""
    (place / "real.ini").write_text(SECRET)
    (tmp_path / "link.ini").symlink_to(place / "real.ini")
    with Folder(place, withheld=[str(tmp_path / "link.ini")]) as folder:
        assert "withheld" in refused(FolderTools(folder).read_file, "real.ini")


# -- what they read -----------------------------------------------------------------------


def test_read_file_gives_the_text(tools: FolderTools) -> None:
    """A short file comes as it is, whichever way its path is written."""
    assert tools.read_file("a.txt") == "one\ntwo\nthree"
    assert tools.read_file("./sub//b.py") == "x = 'two'"
    assert tools.read_file("a.txt", first_line=3) == "three"
    assert refused(tools.read_file, "a.txt", first_line=4) == "the file has only 3 lines"
    assert "1 or more" in refused(tools.read_file, "a.txt", first_line=0)


def test_read_file_of_odd_texts(place: Path, tools: FolderTools) -> None:
    """BOM and CR are dropped, bad UTF-8 is replaced, and an empty file says that it is empty."""
    (place / "bom").write_bytes(b"\xef\xbb\xbfa\r\nb\r\n")
    (place / "latin").write_bytes(b"caf\xe9\n")
    (place / "empty").touch()
    (place / "blank").write_bytes(b"\n")
    assert tools.read_file("bom") == "a\nb"
    assert tools.read_file("latin") == "caf\ufffd"
    assert tools.read_file("empty") == "[the file is empty]"
    assert tools.read_file("blank") == "[the file is empty]"


def test_binary_file_is_said_to_be_one(place: Path, tools: FolderTools) -> None:
    """A file with a NUL is not shown; the result has its size."""
    (place / "x.bin").write_bytes(b"GIF89a\0" + b"\xff" * 93)
    assert tools.read_file("x.bin") == "[x.bin is a binary file of 100 bytes; it is not shown]"


def test_long_file_comes_in_parts(place: Path, folder: Folder) -> None:
    """The parts together are the file, and each is within the cap."""
    lines = [f"line {number} é" for number in range(1, 401)]
    (place / "long").write_text("\n".join(lines) + "\n", encoding="utf-8")
    tools = FolderTools(folder, 1024)
    seen: List[str] = []
    while len(seen) < 400:
        part = tools.read_file("long", first_line=len(seen) + 1)
        assert len(part.encode("utf-8")) <= 1024
        seen += [line for line in part.split("\n") if not line.startswith("[")]
        assert len(seen) == 400 or f"continue with first_line={len(seen) + 1}]" in part
    assert seen == lines


def test_one_vast_line_is_cut(place: Path, folder: Folder) -> None:
    """A line beyond the cap is shown in part, between two characters, and says so."""
    (place / "min.js").write_text("é" * 5000 + "\nend\n", encoding="utf-8")
    part = FolderTools(folder, 1000).read_file("min.js")
    assert len(part.encode("utf-8")) <= 1000
    assert part.endswith("[lines 1 to 1 of 2; continue with first_line=2; line 1 is cut]")
    assert set(part.split("…")[0]) == {"é"}


def test_huge_file_is_read_in_part(place: Path, tools: FolderTools) -> None:
    """Of a file of terabytes only the first megabytes are ever read."""
    with open(place / "huge", "wb") as file:
        file.write(b"text\n" * (MAX_FILE_BYTES // 5 + 1))
        file.truncate(1 << 40)
    part = tools.read_file("huge", first_line=MAX_FILE_BYTES // 5)
    assert f"only the first {MAX_FILE_BYTES} bytes" in part
    assert "1 files not searched: too large" in tools.search_text("zzz", pattern="huge")
    with open(place / "sparse", "wb") as file:
        file.truncate(1 << 40)
    assert f"more than {MAX_FILE_BYTES} bytes" in tools.read_file("sparse")


def test_list_files(place: Path, tools: FolderTools) -> None:
    """One name a line: folders marked, sizes told, hidden names only when asked for."""
    assert tools.list_files() == "a.txt  14 bytes\nsub/"
    assert tools.list_files(hidden=True).startswith(".hidden  4 bytes\n")
    assert tools.list_files("sub", recursive=True) == (
        "sub/b.py  10 bytes\nsub/deep/\nsub/deep/c.py  4 bytes")
    assert tools.list_files(recursive=True, pattern="*.py") == (
        "sub/b.py  10 bytes\nsub/deep/c.py  4 bytes")
    assert tools.list_files(pattern="*.c") == "[no name fits]"
    assert "not a folder" in refused(tools.list_files, "a.txt")
    assert refused(tools.list_files, "nowhere")


def test_search_text(place: Path, tools: FolderTools) -> None:
    """Lines come with file and number; binary files are counted, hidden files are skipped."""
    (place / "x.bin").write_bytes(b"two\0")
    assert tools.search_text("two") == (
        "a.txt:2: two\nsub/b.py:1: x = 'two'\n[1 files not searched: binary]")
    assert "sub/deep/c.py:1: Two" in tools.search_text("TWO", ignore_case=True)
    assert tools.search_text("two", pattern="*.py") == "sub/b.py:1: x = 'two'"
    assert tools.search_text("two", path="a.txt") == "a.txt:2: two"
    assert ".hidden:1: two" in tools.search_text("two", hidden=True)
    assert tools.search_text("t.o", path="sub") == "[not found]"
    for text in ("", "\n", "a\nb"):
        assert "within one line" in refused(tools.search_text, text)


def test_search_that_finds_too_much_is_capped(place: Path, folder: Folder) -> None:
    """Lines that do not fit are counted, and the search ends early."""
    (place / "many").write_text("hit " * 100 + "\n" * 2 + "hit\n" * 5000)
    shown = FolderTools(folder, 1000).search_text("hit")
    assert len(shown.encode("utf-8")) <= 1000
    assert "lines shown; ask for less]" in shown


def test_search_stops_at_cancel(tools: FolderTools) -> None:
    """A cancelled search reads no further file."""
    cancel = threading.Event()
    cancel.set()
    assert tools.search_text("two", cancel=cancel) == "[not found]"


def test_bounds_of_names_and_bytes(place: Path) -> None:
    """Past a number of names, or of bytes read, a call ends and says so."""
    (place / "many").mkdir()
    for number in range(MAX_ENTRIES + 1):
        os.link(place / "a.txt", place / "many" / f"{number:06}")
    for number in range(MAX_SEARCH_BYTES // MAX_FILE_BYTES + 1):
        with open(place / f"big{number:02}", "wb") as file:
            file.truncate(MAX_FILE_BYTES)
    (place / "last").write_text("zzz")
    with Folder(place) as folder:
        tools = FolderTools(folder, 200_000)
        assert len(folder.entries("many")) == MAX_ENTRIES
        listed = tools.list_files("many")
        assert f"only the first {MAX_NAMES} names" in listed
        assert listed.count("\n") == MAX_NAMES
        found = tools.search_text("zzz")
        assert f"ended after {MAX_SEARCH_BYTES} bytes" in found and "last" not in found


def test_folders_within_folders_have_an_end(place: Path, tools: FolderTools) -> None:
    """Very deep folders are listed only down to a limit."""
    deep = place / "d"
    for _ in range(50):
        deep = deep / "d"
    deep.mkdir(parents=True)
    assert "1 folders could not be read" in tools.list_files("d", recursive=True)


@pytest.mark.parametrize("most", [256, 1024, 16384])
def test_results_fit_the_agents_cap(place: Path, folder: Folder, most: int) -> None:
    """The note about the rest is always within the cap."""
    (place / "long").write_text("0123456789 line\n" * 3000)
    for number in range(60):
        (place / f"name-{number:040}").touch()
    tools = FolderTools(folder, AgentLimits(max_output_bytes=most).max_output_bytes)
    for text in (tools.read_file("long"), tools.list_files(), tools.search_text("line")):
        assert len(text.encode("utf-8")) <= most


def test_tools_are_described_for_the_model(folder: Folder) -> None:
    """Three read-only tools whose every parameter has words; ``cancel`` is not the model's."""
    registry = ToolRegistry(FolderTools(folder).tools())
    assert registry.names == ["read_file", "list_files", "search_text"]
    for spec in registry.specs():
        function = spec["function"]
        assert function["description"]
        assert all("description" in one for one in function["parameters"]["properties"].values())
        assert "cancel" not in function["parameters"]["properties"]
    assert not any(one.mutating for one in registry)


# -- confinement --------------------------------------------------------------------------


OUTSIDE = [
    "../secret.txt", "..", "sub/../../secret.txt", "sub/../a.txt", "./../secret.txt",
    "/etc/passwd", "//etc/passwd", "~", "~/x", "C:\\x", "c:/x", "", " ", "a\0b",
]


@pytest.mark.parametrize("path", OUTSIDE)
def test_path_out_of_the_folder_is_refused(tools: FolderTools, path: str) -> None:
    """Absolute paths and ``..`` are refused by every tool, even where they would stay inside."""
    for function in (tools.read_file, tools.list_files):
        refused(function, path)
    refused(tools.search_text, "secret", path=path)


def test_absolute_path_of_the_folder_itself_is_refused(place: Path, tools: FolderTools) -> None:
    """There is one way to name a file: relative."""
    assert "absolute" in refused(tools.read_file, str(place / "a.txt"))


@posix
@pytest.mark.parametrize("target", ["../secret.txt", "a.txt", "/etc/passwd", "/nowhere"])
def test_link_to_a_file_is_refused(place: Path, tools: FolderTools, target: str) -> None:
    """A symbolic link is not followed, wherever it leads."""
    (place / "link").symlink_to(target)
    assert "link" in refused(tools.read_file, "link")
    assert "link" in refused(tools.read_file, "link/x")
    assert "link  (a link: not followed)" in tools.list_files()
    assert SECRET not in tools.search_text(SECRET, path=".")
    assert refused(tools.search_text, SECRET, path="link")


@posix
@pytest.mark.parametrize("target", ["../elsewhere", "sub", "/", ".", ".."])
def test_link_to_a_folder_is_refused(place: Path, tools: FolderTools, target: str) -> None:
    """A link to a folder is refused anywhere in a path; a walk skips it."""
    (place / "sub" / "way").symlink_to(target)
    for path in ("sub/way", "sub/way/f.txt", "sub/way/deep/c.py"):
        assert "link" in refused(tools.read_file, path)
    assert "link" in refused(tools.list_files, "sub/way")
    assert SECRET not in tools.search_text(SECRET)
    listed = tools.list_files(recursive=True)
    assert "sub/way  (a link: not followed)" in listed and "sub/way/" not in listed


@posix
def test_fifo_socket_and_device_are_refused(
    place: Path, tools: FolderTools, folder: Folder
) -> None:
    """Things that block, or have effects when they are read, are not opened."""
    os.mkfifo(place / "fifo")
    server = socket.socket(socket.AF_UNIX)
    here = os.getcwd()
    try:
        os.chdir(place)  # a socket's path may not be long
        server.bind("sock")
    finally:
        os.chdir(here)
        server.close()
    for name in ("fifo", "sock"):
        assert "a device, a FIFO or a socket" in refused(tools.read_file, name)
        assert folder.kind(name) == OTHER
    assert "fifo  (not a regular file: not read)" in tools.list_files()
    assert tools.search_text("zzz") == "[not found]"
    with Folder("/dev", openat=folder._openat) as devices:
        for name in ("null", "zero", "tty"):
            assert "device" in refused(FolderTools(devices).read_file, name)


@posix
@pytest.mark.parametrize("name, replacement", [("sub", "../elsewhere"), ("f.txt", "secret.txt")])
@pytest.mark.parametrize("openat", [True, False], ids=["openat", "paths"])
def test_link_put_there_between_look_and_opening_leads_nowhere(
    place: Path, name: str, replacement: str, openat: bool
) -> None:
    """A file that becomes a link after the check gives nothing of the link's target."""
    (place / "sub" / "f.txt").write_text("fine")
    (place / "sub" / "secret.txt").symlink_to(place.parent / "secret.txt")

    def look(path: Any, **how: Any) -> os.stat_result:
        facts = os.stat(path, **how)
        if os.path.basename(path) == name:
            target = place / name if name == "sub" else place / "sub" / name
            if not target.is_symlink():
                target.rename(place / "kept")
                target.symlink_to(replacement)
        return facts

    with Folder(place, openat=openat, look=look) as folder:
        refused(FolderTools(folder).read_file, "sub/f.txt")


@posix
def test_folder_replaced_by_a_link_just_before_the_opening(place: Path, folder: Folder) -> None:
    """The open folder is still the old one; by paths, the second look refuses."""
    (place.parent / "elsewhere" / "b.py").write_text(SECRET)

    def look(path: Any, **how: Any) -> os.stat_result:
        if os.path.basename(path) == "b.py" and not (place / "sub").is_symlink():
            (place / "sub").rename(place / "kept")
            (place / "sub").symlink_to("../elsewhere")
        return os.stat(path, **how)

    with Folder(place, openat=folder._openat, look=look) as opened:
        if folder._openat:
            assert FolderTools(opened).read_file("sub/b.py") == "x = 'two'"
        else:
            refused(FolderTools(opened).read_file, "sub/b.py")


def test_file_replaced_between_look_and_opening_is_refused(place: Path) -> None:
    """Without relative opening, the file that was looked at is the one that is read."""
    def look(path: Any, **how: Any) -> os.stat_result:
        facts = os.stat(path, **how)
        if os.path.basename(path) == "a.txt":
            os.replace(place.parent / "secret.txt", place / "a.txt")
        return facts

    with Folder(place, openat=False, look=look) as folder:
        assert "replaced" in refused(FolderTools(folder).read_file, "a.txt")


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs a file that fails")
def test_file_that_fails_while_it_is_read_is_said_to(folder: Folder) -> None:
    """A failing read is an error for the model and does not end the loop."""
    with Folder("/proc/self", openat=folder._openat) as proc:
        refused(FolderTools(proc).read_file, "mem")


@posix
def test_unreadable_things_are_said_to_be_so(
    place: Path, tools: FolderTools, folder: Folder
) -> None:
    """An error of the system becomes an error for the model, without absolute paths."""
    for path in ("nowhere", "a.txt/x", "x" * 5000):
        words = refused(tools.read_file, path)
        assert str(place) not in words and len(words) < 400
    assert "a folder" in refused(tools.read_file, "sub")
    assert "not a file" in refused(tools.read_file, ".")
    assert [folder.kind(name) for name in (".", "a.txt", "sub")] == [FOLDER, FILE, FOLDER]
    if os.geteuid() != 0:
        (place / "a.txt").chmod(0)
        assert "denied" in refused(tools.read_file, "a.txt").lower()


@posix
def test_folder_given_may_itself_be_a_link(place: Path) -> None:
    """Links in the user's own path are followed; only links in the model's paths are refused."""
    link = place.parent / "link"
    link.symlink_to(place)
    with Folder(link) as folder:
        assert FolderTools(folder).read_file("a.txt").startswith("one")
        assert folder.kind("sub") == FOLDER
        (place / "l").symlink_to("a.txt")
        assert folder.kind("l") == LINK


@pytest.mark.parametrize("name", ["nowhere", "a.txt"])
def test_what_is_no_folder_cannot_be_one(place: Path, name: str) -> None:
    """A missing folder is an error when the ``Folder`` is made."""
    with pytest.raises(OSError):
        Folder(place / name)


def test_moved_folder_stays_the_same(place: Path) -> None:
    """An open folder stays the same folder, even if another takes its place."""
    if not HAS_OPENAT:
        pytest.skip("this system cannot open relative to a folder")
    with Folder(place) as folder:
        place.rename(place.parent / "moved")
        (place.parent / "elsewhere").rename(place)
        assert FolderTools(folder).read_file("a.txt").startswith("one")
        refused(FolderTools(folder).read_file, "f.txt")


@pytest.mark.parametrize("path", [
    "..\\x", "a\\..\\x", "\\x", "\\\\host\\share", "C:x", "C:\\x", "a:stream", "NUL", "con.txt",
    "sub\\aux", "COM1", "...", "a/. ./b",
])
def test_windows_paths_out_of_the_folder_are_refused(path: str) -> None:
    """Backslashes, drives, streams and device names mean there what they mean on Windows."""
    with pytest.raises(ToolError):
        split_path(path, windows=True)


@pytest.mark.parametrize("path, parts", [
    (".", ()), ("./", ()), ("a/./b//c", ("a", "b", "c")), ("a:b", ("a:b",)), ("~a", ("~a",)),
    ("...", ("...",)), ("a..b", ("a..b",)), ("NUL", ("NUL",)),
])
def test_plain_paths_pass(path: str, parts: Any) -> None:
    """Odd names are accepted."""
    assert split_path(path, windows=False) == parts
    assert split_path("a\\b.txt", windows=True) == ("a", "b.txt")
