# SPDX-License-Identifier: MIT
"""``vendor``: what it carries, what it updates, what it refuses to overwrite, what it checks.

Each set of rooms is carried into a fresh folder under another name and used there, away from
the checkout. A second, changed source stands in for another version.
"""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path
from typing import Any, Dict, List

import pytest
from carried_support import BODY, NAME, NO_REQUESTS, PARSE, copied, python, told
from cli_support import Result, run
from support import ROOT

from streamcore.providers import list_profiles
from streamcore.values.rooms import OPTIONAL, REQUIRED

USES: Dict[str, str] = {
    "session": f"assert {NAME}.Session().derive_messages() == []\n",
    "agent": f"assert {NAME}.Agent and {NAME}.Tool and {NAME}.Session\n",
    "config": f"assert {NAME}.Config.load(env=None).provider == 'openai-compatible'\n",
    "loopback": f"with {NAME}.LoopbackServer([]) as server: assert server.base_url\n",
    "cli": f"from {NAME}.cli import main\nassert main(['replay', 'answer.sse']) == 0\n",
}
"""Optional room → code that uses it in the copy."""


def vendor(dest: Path, *args: str) -> Result:
    """Run the command on a folder."""
    return run("vendor", str(dest), *args)


def manifest(dest: Path) -> Dict[str, Any]:
    """Return what the manifest of a copy says."""
    read: Dict[str, Any] = json.loads((dest / "streamcore-vendor.json").read_text("utf-8"))
    return read


def tree(dest: Path) -> Dict[str, bytes]:
    """Return each file of a folder by its path in it."""
    return {path.relative_to(dest).as_posix(): path.read_bytes()
            for path in dest.rglob("*") if path.is_file()}


@pytest.fixture
def dest(tmp_path: Path) -> Path:
    """A folder for a copy, not there yet, named as the code of the tests imports it."""
    return tmp_path / "host" / NAME


@pytest.mark.parametrize("rooms", [
    "", "session", "agent", "loopback", "session,config", "all", "config", "cli",
])
def test_each_set_is_carried_and_used_without_requests(rooms: str, dest: Path) -> None:
    """The copy parses under its new name; its rooms work, and a missing room says so."""
    assert vendor(dest, "--with", rooms).code == 0
    (dest.parent / "answer.sse").write_bytes(BODY)
    has = manifest(dest)["rooms"]
    wanted = OPTIONAL if rooms == "all" else [room for room in rooms.split(",") if room]
    assert set(wanted) <= set(has)
    for room in OPTIONAL:
        assert (dest / room).is_dir() is (room in has)
    head = NO_REQUESTS + PARSE
    for room in has:
        code = head if room == "cli" else head + USES[room]
        assert told(dest.parent, code) is None
    if "cli" in has:
        done = python(dest.parent, "-m", NAME, "replay", "answer.sse")
        assert (done.returncode, done.stdout) == (0, "hello\n"), done.stderr


def test_core_alone_is_carried_by_default(dest: Path) -> None:
    """Without options a copy has the rooms it needs, one provider, the licence and a manifest."""
    done = vendor(dest)
    assert done.code == 0 and "rooms beside the core: none" in done.out
    rooms = {path.name for path in dest.iterdir() if path.is_dir()}
    assert rooms == set(REQUIRED)
    assert (dest / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert (dest / "py.typed").is_file()
    assert manifest(dest)["providers"] == ["openai-compatible"]
    assert not list(dest.rglob("__pycache__"))


def test_pages_of_the_rooms_come_along(dest: Path) -> None:
    """A copy has the design, and the page of each room that it has."""
    vendor(dest, "--with", "session")
    pages = {path.relative_to(dest).as_posix() for path in dest.rglob("*.md")}
    assert {f"{room}/README.md" for room in (*REQUIRED, "session")} | {"DESIGN.md"} <= pages
    assert not any(page.startswith(("agent/", "cli/")) for page in pages)


def test_pages_of_the_rooms_are_installed() -> None:
    """Each room has a page, and the installed package carries it with the design."""
    data = (ROOT / "setup.cfg").read_text(encoding="utf-8").split("package_data]")[1]
    assert "* = README.md" in data and "DESIGN.md" in data.split("[")[0]
    assert all((ROOT / "streamcore" / room / "README.md").is_file()
               for room in (*REQUIRED, *OPTIONAL))


def test_licence_of_the_package_is_that_of_the_checkout() -> None:
    """The licence inside the package is the same text."""
    inside = ROOT / "streamcore" / "LICENSE"
    assert inside.read_bytes() == (ROOT / "LICENSE").read_bytes()
    assert "LICENSE" in (ROOT / "setup.cfg").read_text(encoding="utf-8").split("package_data]")[1]


def test_providers_come_by_name_with_what_they_are_made_from(dest: Path) -> None:
    """A named provider can be asked for; one that is not named says how to get it."""
    vendor(dest, "--providers", "zai, openai")
    known, refused = told(
        dest.parent,
        f"known = [one.name for one in {NAME}.list_profiles()]\n"
        f"try: {NAME}.get_profile('groq')\n"
        "except ValueError as error: print(json.dumps([known, str(error)]))",
    )
    assert known == ["openai", "zhipu", "zai", "openai-compatible"]  # zai is made from zhipu
    assert "--providers groq" in refused


def test_all_providers_come_with_one_word(dest: Path) -> None:
    """``--providers all`` carries each profile of the package."""
    vendor(dest, "--providers", "all")
    assert manifest(dest)["providers"] == [one.name for one in list_profiles()]


def test_room_that_another_needs_comes_along_and_is_told(dest: Path) -> None:
    """The room agent needs the room session: it is added, and the command says so."""
    done = vendor(dest, "--with", "agent")
    assert "agent needs session: added" in done.out
    assert manifest(dest)["rooms"] == ["session", "agent"]


def test_copy_is_the_same_bytes_each_time(dest: Path, tmp_path: Path) -> None:
    """Two copies are equal: no time, no path of this machine, Unix line ends, true hashes."""
    again = tmp_path / "again"
    vendor(dest, "--with", "cli,agent", "--providers", "groq,openai")
    vendor(again, "--with", "agent,cli", "--providers", "openai,groq")
    assert tree(dest) == tree(again)
    assert not [name for name, data in tree(dest).items() if b"\r" in data]
    text = (dest / "streamcore-vendor.json").read_text("utf-8")
    assert str(tmp_path) not in text and str(ROOT) not in text
    files = manifest(dest)["files"]
    assert set(files) | {"streamcore-vendor.json"} == set(tree(dest))
    for name, digest in files.items():
        assert digest == "sha256:" + hashlib.sha256((dest / name).read_bytes()).hexdigest()


def test_run_again_writes_nothing(dest: Path) -> None:
    """A copy that is up to date stays as it is, its rooms and providers too."""
    vendor(dest, "--with", "config", "--providers", "groq")
    before = {path: path.stat().st_mtime_ns for path in dest.rglob("*")}
    done = vendor(dest)
    assert done.code == 0 and "0 written, 0 removed" in done.out
    assert {path: path.stat().st_mtime_ns for path in dest.rglob("*")} == before
    assert manifest(dest)["rooms"] == ["config"] and "groq" in manifest(dest)["providers"]


def test_rooms_and_providers_are_added_to_those_that_are_there(dest: Path) -> None:
    """The command in the error message adds the room, and removes no other."""
    vendor(dest, "--with", "config", "--providers", "groq")
    vendor(dest, "--with", "loopback", "--providers", "xai")
    assert manifest(dest)["rooms"] == ["config", "loopback"]
    assert manifest(dest)["providers"] == ["groq", "xai", "openai-compatible"]


def test_room_taken_out_leaves_no_file_or_folder(dest: Path) -> None:
    """``--without`` removes rooms and providers with their compiled files; other files stay."""
    vendor(dest, "--with", "all", "--providers", "groq")
    cached = dest / "agent" / "tools" / "__pycache__"
    cached.mkdir()
    (cached / "tool.pyc").touch()
    (dest / "session" / "notes.txt").write_text("of the host")
    assert vendor(dest, "--without", "agent,session,cli,groq").code == 0
    assert not (dest / "agent").exists() and not (dest / "cli").exists()
    assert tree(dest / "session") == {"notes.txt": b"of the host"}
    assert not (dest / "providers" / "hosted" / "groq.py").exists()
    assert vendor(dest, "--check").code == 0


def test_file_changed_by_hand_is_not_overwritten(dest: Path) -> None:
    """An update that would lose a change names the file, writes nothing and ends with 1."""
    vendor(dest, "--with", "config")
    changed = dest / "config" / "ini.py"
    changed.write_text("mine = True\n")
    (dest / "client" / "stream.py").unlink()
    before = tree(dest)
    for args in ([], ["--without", "config"], ["--with", "agent"]):
        done = vendor(dest, *args)
        assert done.code == 1 and "config/ini.py" in done.err and "--force" in done.err
        assert tree(dest) == before
    assert vendor(dest, "--force").code == 0
    assert "mine" not in changed.read_text() and (dest / "client" / "stream.py").is_file()
    assert vendor(dest, "--check").code == 0


def test_file_of_a_host_in_the_way_is_not_overwritten(dest: Path) -> None:
    """Without a manifest, a file with the name of a package file is not overwritten."""
    dest.mkdir(parents=True)
    (dest / "__init__.py").write_text("theirs = True\n")
    assert vendor(dest).code == 1
    assert list(tree(dest)) == ["__init__.py"]


def test_plain_copy_is_taken_over(tmp_path: Path) -> None:
    """A folder made by ``cp -r`` of this version gets its manifest, and nothing is rewritten."""
    copy = copied(tmp_path) / NAME
    done = vendor(copy, "--with", "all", "--providers", "all")
    assert done.code == 0 and "0 written, 0 removed" in done.out
    assert vendor(copy, "--check").code == 0


def test_line_ends_of_a_checkout_are_no_change(dest: Path) -> None:
    """A copy that a version control system gave other line ends is whole."""
    vendor(dest)
    path = dest / "client" / "client.py"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert vendor(dest, "--check").code == 0
    assert "0 written" in vendor(dest).out


@pytest.mark.parametrize("change, word", [
    ("write", "client/client.py was changed"), ("unlink", "client/client.py was removed"),
    ("add", "client/more.py was added"),
])
def test_check_says_what_was_changed_by_hand(change: str, word: str, dest: Path) -> None:
    """A changed, a removed and an added module each end the check with 1."""
    vendor(dest)
    path = dest / "client" / "client.py"
    if change == "unlink":
        path.unlink()
    else:
        path = path if change == "write" else path.with_name("more.py")
        path.write_text("x = 1\n")
    done = vendor(dest, "--check")
    assert (done.code, done.out) == (1, word + "\n")


def test_check_of_a_copy_that_is_behind_ends_with_3(dest: Path) -> None:
    """A copy of another version, or of this one with other files, is behind, and changes by it."""
    vendor(dest)
    whole = vendor(dest, "--check")
    assert whole.code == 0 and "the copy is whole" in whole.out
    path = dest / "streamcore-vendor.json"
    said = manifest(dest)
    path.write_text(json.dumps({**said, "version": "0.0.9"}))
    behind = vendor(dest, "--check")
    assert behind.code == 3 and "it has version 0.0.9" in behind.out
    old = dest / "values" / "gone.py"  # as an older version may have had it
    old.write_text("x = 1\n")
    digest = "sha256:" + hashlib.sha256(b"x = 1\n").hexdigest()
    path.write_text(json.dumps({**said, "files": {**said["files"], "values/gone.py": digest}}))
    behind = vendor(dest, "--check")
    assert behind.code == 3 and "the files of this" in behind.out
    assert "1 removed" in vendor(dest).out and not old.exists()


def test_copy_with_a_command_line_carries_on_from_itself(dest: Path, tmp_path: Path) -> None:
    """A copy makes copies of what it has, its licence too, and refuses a room it lacks."""
    vendor(dest, "--with", "all", "--without", "agent", "--providers", "openai")
    done = python(dest.parent, "-m", NAME, "vendor", "second", "--with", "config")
    assert done.returncode == 0, done.stderr
    assert (dest.parent / "second" / "LICENSE").is_file()
    lacking = python(dest.parent, "-m", NAME, "vendor", "third", "--with", "agent")
    assert lacking.returncode == 2 and "does not have the room agent" in lacking.stderr


@pytest.mark.parametrize("args, text", [
    (["--with", "agents"], "there is no such room"),
    (["--providers", "opnai"], "did you mean openai"),
    (["--without", "wire"], "every copy needs it"),
    (["--without", "openai-compatible"], "a client that names no provider uses it"),
    (["--with", "agent", "--without", "session"], "agent needs it"),
    (["--without", "nobody"], "no provider is named"),
    (["--check"], "it has no streamcore-vendor.json"),
    (["--check", "--with", "agent"], "cannot be combined"),
])
def test_wrong_usage_is_refused_and_nothing_is_written(
    args: List[str], text: str, dest: Path
) -> None:
    """Unknown names, and options that contradict each other, exit with 2."""
    done = vendor(dest, *args)
    assert done.code == 2 and text in done.err
    assert not dest.exists()


def test_package_itself_is_no_destination(tmp_path: Path) -> None:
    """The folder of the package, one inside it, and one that holds it are refused."""
    for place in (ROOT / "streamcore", ROOT / "streamcore" / "values" / "x", ROOT):
        done = vendor(place)
        assert done.code == 2 and "the package itself" in done.err


@pytest.mark.parametrize("text", [
    "{", "[]", '{"format": 2}', '{"format": 1, "version": "1", "rooms": [], "providers": []}',
    *(json.dumps({"format": 1, "version": "1", "rooms": [], "providers": [],
                  "files": {name: "sha256:0"}})
      for name in ("../outside.py", "/etc/x", "C:/x", "a/../../x", "a\\x")),
])
def test_manifest_that_leads_elsewhere_or_cannot_be_read_is_refused(text: str, dest: Path) -> None:
    """A manifest that names files outside of the copy is refused."""
    dest.mkdir(parents=True)
    (dest.parent / "outside.py").write_text("x")
    (dest / "streamcore-vendor.json").write_text(text)
    for args in ([], ["--force"], ["--check"]):
        done = vendor(dest, *args)
        assert done.code == 2 and "streamcore-vendor.json" in done.err
    assert (dest.parent / "outside.py").exists()


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write anywhere")
def test_folder_that_cannot_be_written_is_wrong_usage(tmp_path: Path) -> None:
    """The message has the system's reason and the file."""
    tmp_path.chmod(0o500)
    try:
        done = vendor(tmp_path / "copy")
        assert done.code == 2 and "Permission denied" in done.err
    finally:
        tmp_path.chmod(0o700)


def test_place_that_is_a_file_is_wrong_usage(tmp_path: Path) -> None:
    """A file in the place of the folder gives the system's message."""
    (tmp_path / "copy").write_text("x")
    assert vendor(tmp_path / "copy").code == 2
