"""Files are replaced at once or not at all; links are followed, pipes and devices written to."""

from __future__ import annotations

import os
import stat
import threading
from pathlib import Path

import pytest

from princdiff.files import check_writable, replacing, write_text
from princdiff.printable import printable

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
needs_devices = pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
needs_rules = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="whoever may write everywhere is never refused"
)


def test_old_file_stays_if_anything_fails(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), replacing(path) as beside:
        beside.write_text("half")
        raise ZeroDivisionError
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.txt"]
    write_text(path, "new")
    assert path.read_text() == "new" and os.listdir(tmp_path) == ["a.txt"]


def test_permissions_are_kept_or_usual(tmp_path):
    write_text(tmp_path / "new.txt", "a")
    (tmp_path / "plain.txt").write_text("a")
    assert (tmp_path / "new.txt").stat().st_mode == (tmp_path / "plain.txt").stat().st_mode
    (tmp_path / "new.txt").chmod(0o640)
    write_text(tmp_path / "new.txt", "b")
    assert stat.S_IMODE((tmp_path / "new.txt").stat().st_mode) == 0o640


def test_links_are_followed(tmp_path):
    (tmp_path / "place").mkdir()
    target, link, chain = tmp_path / "place" / "real.txt", tmp_path / "link.txt", tmp_path / "chain.txt"
    link.symlink_to(target)
    chain.symlink_to("link.txt")
    for text in ("first", "second"):  # the link dangles at first
        write_text(chain, text)
        assert target.read_text() == text
        assert link.is_symlink() and chain.is_symlink() and not target.is_symlink()


@needs_pipes
def test_pipes_are_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    found = []
    reader = threading.Thread(target=lambda: found.append((tmp_path / "pipe").read_text()))
    reader.start()
    write_text(tmp_path / "pipe", "through")
    reader.join()
    assert found == ["through"]
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode) and os.listdir(tmp_path) == ["pipe"]


@needs_devices
def test_devices_are_written_to(tmp_path):
    link = tmp_path / "link"
    link.symlink_to("/dev/null")
    write_text(link, "gone")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode) and link.is_symlink()


@needs_devices
def test_full_disk_names_the_file():
    with pytest.raises(OSError, match=r"No space left on device: '/dev/full'"):
        write_text("/dev/full", "text")


def test_full_disk_names_the_file_and_not_the_temporary_one(tmp_path, monkeypatch):
    def full(self, *arguments, **options):
        raise OSError(28, "No space left on device", str(self))

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_text(tmp_path / "a.txt", "text")
    assert caught.value.filename == str(tmp_path / "a.txt")
    assert os.listdir(tmp_path) == []


def test_folders_are_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder; name a file in it"):
        write_text(tmp_path, "text")
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(IsADirectoryError, match="link is a folder"):
        check_writable(tmp_path / "link")
    with pytest.raises(FileNotFoundError, match=r"the folder .*absent does not exist; create it first"):
        check_writable(tmp_path / "absent" / "a.txt")


def test_long_names(tmp_path):
    write_text(tmp_path / ("n" * 250 + ".json"), "text")
    write_text(tmp_path / ("a." + "n" * 250), "text")
    with pytest.raises(OSError, match=r"the file name nnn.* is too long; choose a shorter one"):
        check_writable(tmp_path / ("n" * 256))


@needs_rules
def test_folder_without_permission(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="no file can be written in the folder"):
        check_writable(tmp_path / "a.txt")
    tmp_path.chmod(0o700)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("größe 日本", "größe 日本"),
        ("a\x1b[2Jb", r"a\x1b[2Jb"),
        ("a\u202egnp", r"a\u202egnp"),
        ("a\x9bb\x07", r"a\x9bb\x07"),
        ("a\nb", r"a\nb"),
        (7, "7"),
    ],
)
def test_nothing_reaches_the_terminal_that_it_would_obey(text, shown):
    assert printable(text) == shown
