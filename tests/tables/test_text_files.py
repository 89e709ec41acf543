"""Text files: what pandas lets through silently is refused, and codes stay text."""

from __future__ import annotations

import gzip
import io
import os
import signal
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from princdiff.tables import prepare, read
from princdiff.tables.column_values import read_column
from princdiff.tables.text_files import SEPARATORS

FRAME = pd.DataFrame({"größe": [1.5, 2.5, 3.5], "city": ["Oslo", "Ürümqi", "Oslo"], "n": [3, 1, 2]})


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


@pytest.mark.parametrize("name", ["a.csv", "a.CSV", "a.csv.gz", "a.tsv", "a.tsv.gz"])
def test_text_files(tmp_path, name):
    path = tmp_path / name
    sep = "\t" if "tsv" in name else ","
    FRAME.to_csv(path, index=False, sep=sep)
    table = read(path)
    assert table.columns == ("größe", "city", "n")
    assert table.label == name and table.path == path and table.named
    assert table.values["city"].tolist() == FRAME["city"].tolist()
    assert read(str(path)).n_rows == 3


@pytest.mark.parametrize("content", ["\n\n", "  \n \n", "\ufeff"])
def test_blank_file(tmp_path, content):
    with pytest.raises(ValueError, match=r"a\.csv is empty|a\.csv has columns but no rows"):
        read(written(tmp_path / "a.csv", content))


def test_empty_gzip(tmp_path):
    with pytest.raises(ValueError, match=r"a\.csv\.gz is empty"):
        read(written(tmp_path / "a.csv.gz", gzip.compress(b"")))


def test_header_only(tmp_path):
    with pytest.raises(ValueError, match=r"a\.csv has columns but no rows"):
        read(written(tmp_path / "a.csv", "u,v\n"))


def test_duplicate_column_names(tmp_path):
    with pytest.raises(ValueError, match=r"a\.csv has columns with the same name: 'u'"):
        read(written(tmp_path / "a.csv", "u,v, u\n1,2,3\n"))
    with pytest.raises(ValueError, match="X has columns with the same name: '1'"):
        read(pd.DataFrame([[1, 2]], columns=[1, "1"]))


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16"])
@pytest.mark.parametrize("rows", [1, 50_000])
def test_not_utf8(tmp_path, encoding, rows):
    content = "name,x\n" + "ada,1\n" * rows + "Zoë,1\n"
    with pytest.raises(ValueError, match=r"a\.csv is not UTF-8 text .*; save it as UTF-8"):
        read(written(tmp_path / "a.csv", content.encode(encoding)))


def test_byte_order_mark_is_no_part_of_the_name(tmp_path):
    path = written(tmp_path / "a.csv", "u,v\n1,2\n".encode("utf-8-sig"))
    assert read(path).columns == ("u", "v")


@pytest.mark.parametrize("cut", [5, 40])
def test_cut_gzip(tmp_path, cut):
    whole = gzip.compress(b"u,v\n" + b"\n".join(b"%d,%d" % (i, i * i) for i in range(500)))
    with pytest.raises(ValueError, match=r"a\.csv\.gz is not a whole gzip file"):
        read(written(tmp_path / "a.csv.gz", whole[:cut]))


def test_text_named_gz(tmp_path):
    with pytest.raises(ValueError, match=r"a\.csv\.gz is not a whole gzip file"):
        read(written(tmp_path / "a.csv.gz", "u,v\n1,2\n"))


def test_ragged_rows(tmp_path):
    with pytest.raises(ValueError, match=r"a\.csv cannot be read as text separated by commas: .*line 4"):
        read(written(tmp_path / "a.csv", "u,v\n1,2\n3,4\n1,2,3\n"))


def test_row_names_without_header_are_told(tmp_path):
    table = read(written(tmp_path / "a.csv", "u,v\nfirst,1,2\nsecond,3,4\n"))
    assert table.columns == ("u", "v")
    assert "row index ('row names') is not a feature" in table.notes[0]


def test_no_header(tmp_path):
    with pytest.raises(ValueError, match=r"a\.csv begins with numbers \('5\.1', '3\.5'\)"):
        read(written(tmp_path / "a.csv", "5.1,3.5\n4.9,3.0\n"))
    assert read(written(tmp_path / "b.csv", "0,1\n4.9,3.0\n")).columns == ("0", "1")
    assert read(written(tmp_path / "c.csv", ",0,1\n0,4.9,3.0\n")).columns == ("Unnamed: 0", "0", "1")


# Rows that do not fit the header ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "v,w\n1,2,\n3,4,\n",
            "line 2 has 3 fields, but the header names 2 and the last field is always empty",
        ),
        ("v,w\n1,2,9\n3,4\n5,6\n", "line 2 has 3 fields, but the header names 2 and line 3 has 2"),
        ("v,w\n\n1,2,9\n3,4,5\n5,6\n", "line 3 has 3 fields, but the header names 2 and line 5 has 2"),
        ("v,w\n1,2,9\n1,4,5\n", "line 2 has 3 fields.*the first field of line 3 is not a row name"),
        ("v,w\n1,2,3,4\n3,4,5,6\n", "line 2 has 4 fields, but the header names 2; mind separators"),
        ('"v",w\n"a\nb",2,\n"c",4,\n', "line 3 has 3 fields"),
    ],
)
def test_rows_that_would_shift_the_columns_are_refused(tmp_path, content, message):
    with pytest.raises(ValueError, match=rf"a\.csv: {message}"):
        read(written(tmp_path / "a.csv", content))


def test_row_names_of_r_stay_allowed(tmp_path):
    content = '"v","w"\n"1",5.5,\n"2",6.5,3\n"3",7.5,4\n'
    table = read(written(tmp_path / "a.csv", content))
    assert table.columns == ("v", "w")
    np.testing.assert_array_equal(table.values["v"], [5.5, 6.5, 7.5])


def test_separator_at_the_end_of_the_header_too(tmp_path):
    table = read(written(tmp_path / "a.csv", "v,w,\n1,2,\n3,4,\n"))
    np.testing.assert_array_equal(table.values["v"], [1, 3])
    assert table.values.iloc[:, 2].isna().all()


# Codes ------------------------------------------------------------------------------------------------------


def test_groups_keep_their_text(tmp_path):
    lines = [f"{group},{number}.5" for number, group in enumerate(["01", "1", "01", "1"])]
    path = written(tmp_path / "a.csv", "g,u\n" + "\n".join(lines))
    table = prepare(path, groups="g")
    assert table.groups == ("01", "1")
    np.testing.assert_array_equal(table.codes, [0, 1, 0, 1])


def test_versions_are_not_merged_as_numbers(tmp_path):
    versions = ["1.1", "1.10", "1.2", "1.1"]
    lines = [f"{version},{number}.5" for number, version in enumerate(versions)]
    table = prepare(written(tmp_path / "a.csv", "g,u\n" + "\n".join(lines)), groups="g")
    assert table.groups == ("1.1", "1.10", "1.2")
    np.testing.assert_array_equal(table.codes, [0, 1, 2, 0])
    lines = [f"{label},{number}.5" for number, label in enumerate(["2.0", "10.0", "2.0"])]
    assert prepare(written(tmp_path / "a.csv", "g,u\n" + "\n".join(lines)), groups="g").groups == ("2", "10")


@pytest.mark.parametrize("codes", [("001", "002"), ("1", "01"), ("+01", "5"), ('"007"', "8"), (" 007", "8")])
@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.tsv"])
def test_codes_stay_text(tmp_path, name, codes):
    mark = "\t" if name == "a.tsv" else ","
    rows = "\n".join(f"{codes[row % 2]}{mark}{row}.5{mark}0.{row}" for row in range(6))
    content = f"c{mark}u{mark}v\n{rows}\n".encode()
    table = read(written(tmp_path / name, gzip.compress(content) if name.endswith("gz") else content))
    assert table.values["c"].tolist() == [codes[row % 2].strip(' "') for row in range(6)]
    assert table.values["u"].dtype.kind == table.values["v"].dtype.kind == "f"


def test_codes_beside_row_names_and_gaps(tmp_path):
    table = read(written(tmp_path / "a.csv", "c,u\nr1,01,5\nr2,,6\nr3,2,7\n"))
    assert table.values["c"].tolist()[::2] == ["01", "2"] and pd.isna(table.values["c"].iloc[1])
    assert table.values["u"].tolist() == [5, 6, 7]


def test_codes_across_a_chunk(tmp_path, monkeypatch):
    monkeypatch.setattr("princdiff.tables.text_files._CHUNK", 7)
    for gap in range(8):
        content = "c,u\n" + f"{10**gap},5\n" + "01,5\n2,6\n"
        assert read(written(tmp_path / "a.csv", content)).values["c"].tolist() == [str(10**gap), "01", "2"]
        content = content.replace("01,", "10,")
        assert read(written(tmp_path / "b.csv", content)).values["c"].dtype.kind == "i"


def test_codes_here_and_whole_numbers_there(tmp_path):
    first = written(tmp_path / "a.csv", "zip,u\n" + "01234,1\n98101,2\n98101,2\n" * 3)
    second = written(tmp_path / "b.csv", "zip,u\n" + "98101,1\n55555,2\n98101,2\n" * 3)
    table = prepare(first, second)
    assert table.features[:3] == ("zip = 01234", "zip = 55555", "zip = 98101")
    np.testing.assert_array_equal(table.rows[:, 0], [1, 0, 0] * 3 + [0] * 9)
    third = written(tmp_path / "c.csv", "zip,u\n" + "98101.5,1\n55555,2\n")
    with pytest.raises(ValueError, match=r"'zip' holds numbers in c\.csv but text in a\.csv"):
        prepare(first, third)


def test_postal_codes_are_no_slips(tmp_path):
    codes = ["01234", *(str(number) for number in range(10_000, 10_020))] * 4
    content = "zip,u\n" + "\n".join(f"{code},{row % 7}" for row, code in enumerate(codes))
    table = prepare(written(tmp_path / "a.csv", content), groups=np.arange(84) % 2, features=["zip", "u"])
    assert "zip = 01234" in table.features and len(table.features) == 22


# Pipes and interrupts ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mark", SEPARATORS)
def test_separator_is_found_and_told(tmp_path, mark):
    content = mark.join("uv") + "\n" + mark.join("12") + "\n"
    for name, usual in (("a.csv", ","), ("a.tsv", "\t")):
        table = read(written(tmp_path / name, content))
        assert table.columns == ("u", "v")
        told = (f"{name}: fields are separated by {SEPARATORS[mark]}.",)
        assert table.notes == (() if mark == usual else told)


@pytest.mark.parametrize(
    "stream",
    [
        io.StringIO("u,v\n1,a\n"),
        io.BytesIO(b"u,v\n1,a\n"),
        io.BytesIO(b"\xef\xbb\xbfu\tv\n1\ta\n"),
        io.BytesIO(gzip.compress(b"u,v\n1,a\n")),
    ],
)
def test_open_files(stream):
    table = read(stream, "the stream")
    assert table.columns == ("u", "v") and table.label == "the stream"


def test_open_files_that_cannot_be_read():
    with pytest.raises(ValueError, match="X is empty"):
        read(io.BytesIO(b""))
    with pytest.raises(ValueError, match="X is not a whole gzip file"):
        read(io.BytesIO(gzip.compress(b"u,v\n1,2\n" * 100)[:-12]))
    with pytest.raises(ValueError, match="X is not UTF-8 text"):
        read(io.BytesIO("u,v\nZoë,2\n".encode("latin-1")))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes here")
def test_named_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_text, args=("g,u\n01,1.5\n1,2.5\n",))
    writer.start()
    table = prepare(tmp_path / "pipe", groups="g")
    writer.join()
    assert table.groups == ("01", "1")


def test_interrupt_while_reading(tmp_path):
    class Interrupted(io.BytesIO):
        reads = 0

        def read1(self, size=-1):
            Interrupted.reads += 1
            if Interrupted.reads == 5:
                os.kill(os.getpid(), signal.SIGINT)
            return super().read1(size)

    from princdiff.tables.text_files import TextFile, read_text

    content = b"u,v\n" + b"1.5,2.5\n" * 500_000
    # A suite started in the background of a shell ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            read_text(TextFile("a.csv", lambda: Interrupted(content), ","))
    finally:
        signal.signal(signal.SIGINT, before)


def test_nul_characters_are_no_missing_values(tmp_path):
    path = tmp_path / "table.csv"
    path.write_bytes(b"a,b\n1,\0\n2,x\n3,y\n")
    with pytest.raises(ValueError, match=r"table\.csv holds NUL characters"):
        read(path, "X")


def test_none_is_a_word_among_words_and_missing_elsewhere(tmp_path):
    path = written(
        tmp_path / "answers.csv",
        "improved,score,empty,member,since\n"
        "None,1.5,None,True,2024-05-01\nSome,None,None,None,None\nMarked,2,None,False,2024-06-01\n",
    )
    frame = read(path).values
    assert frame["improved"].tolist() == ["None", "Some", "Marked"]
    np.testing.assert_array_equal(frame["score"], [1.5, np.nan, 2.0])
    assert frame["empty"].isna().all()
    assert frame["member"].isna().tolist() == [False, True, False]
    assert frame["since"].isna().tolist() == [False, True, False]


@pytest.mark.parametrize("swallowed", [1, 3])
def test_rows_that_an_open_quote_swallowed_are_missed(tmp_path, swallowed):
    lines = ["size,city,rate", *(f"{row},Oslo,{row}.5" for row in range(9))]
    lines[3] = lines[3].replace("Oslo", '"Oslo')
    lines[3 + swallowed] = lines[3 + swallowed].replace("Oslo", 'Oslo"')
    (tmp_path / "a.csv").write_text("\n".join(lines) + "\n")
    message = f"column 'city' holds {swallowed} whole rows? in row 2 .* quote that was opened"
    with pytest.raises(ValueError, match=message):
        read(tmp_path / "a.csv")


def test_texts_of_several_lines_are_read(tmp_path):
    content = 'size,where,rate\n1,"12 Main St, Springfield, IL\nUSA",2\n3,"a\nb",4\n'
    (tmp_path / "a.csv").write_text(content)
    assert read(tmp_path / "a.csv").n_rows == 2


def test_numbers_are_read_to_the_last_digit(tmp_path):
    values = np.random.default_rng(0).integers(1, 999, 400) / 7
    frame = pd.DataFrame({"number": values, "text": [f"{value!r}" for value in values.tolist()]})
    frame.to_csv(tmp_path / "a.csv", index=False, quoting=2)
    again = read(tmp_path / "a.csv").values
    np.testing.assert_array_equal(again["number"], values)
    np.testing.assert_array_equal(read_column(frame["text"]).numbers, values)
