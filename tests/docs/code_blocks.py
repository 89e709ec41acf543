"""Run the code of a Markdown page and compare what it shows.

A page is run from top to bottom in one namespace and an empty folder, as by a reader who copies every block:

``python``
    is executed. With ``>>>`` each example's output is compared. Otherwise what it prints is compared with
    the block of ``text`` that follows at once, if there is one.
``console``
    ``$ princdiff ...`` and ``$ echo $?`` are run, and what follows each of them is compared.
``sh``
    is not run, but its commands must exist: options of ``princdiff`` are parsed, targets of ``make`` sought.

``<!-- not run: why -->`` before a block leaves it out. How outputs are compared: see shown_output.py.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from princdiff.cli import main
from tests.docs.shown_output import OutputChecker, matches

_FENCE = re.compile(r"^(?P<indent> *)(?P<ticks>```+|~~~+)(?P<language>[^`]*?) *$")
_COMMAND = re.compile(r"^\$ (.*(?:\\\n.*)*)\n?((?:(?!\$ ).*\n?)*)", re.MULTILINE)
_NOT_RUN = re.compile(r"^ *<!-- not run: (.+) -->$")


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, its first line in the page and why it is not run, if so."""

    language: str
    text: str
    line: int
    not_run: str | None = None
    shown: str | None = None


def read_blocks(page: str) -> list[Block]:
    """The blocks of a page; code that is followed by nothing but a block of text shows that text."""
    found: list[Block] = []
    lines = page.splitlines()
    since_block: list[str] = []
    i = 0
    while i < len(lines):
        fence = _FENCE.match(lines[i])
        if fence is None:
            since_block.append(lines[i])
            i += 1
            continue
        end = next(
            (j for j in range(i + 1, len(lines)) if lines[j].strip() == fence["ticks"]),
            None,
        )
        if end is None:
            raise ValueError(f"the block that begins in line {i + 1} does not end")
        text = "\n".join(line.removeprefix(fence["indent"]) for line in lines[i + 1 : end])
        words = [line for line in since_block if line.strip()]
        reason = _NOT_RUN.match(words[-1]) if words else None
        block = Block(fence["language"], text, i + 1, reason and reason[1])
        if block.language == "text" and found and found[-1].language == "python" and not words:
            last = found.pop()
            block = Block(last.language, last.text, last.line, last.not_run, shown=text)
        found.append(block)
        since_block, i = [], end + 1
    return found


def run_page(path: Path) -> Iterator[str]:
    """Run a page in the working folder; yields what is wrong."""
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in read_blocks(path.read_text(encoding="utf-8")):
        if block.not_run is not None:
            continue
        where = f"{path.name}, line {block.line}"
        if block.language == "python":
            yield from _run_python(block, namespace, where)
        elif block.language == "console":
            yield from _run_console(block, where)
        elif block.language == "sh":
            yield from _check_shell(block, where)


def _run_python(block: Block, namespace: dict[str, object], where: str) -> Iterator[str]:
    if ">>> " in block.text:
        test = doctest.DocTestParser().get_doctest(block.text, namespace, where, where, block.line)
        told = io.StringIO()
        runner = doctest.DocTestRunner(checker=OutputChecker(), verbose=False)
        runner.run(test, out=told.write, clear_globs=False)
        namespace.update(test.globs)
        if runner.summarize(verbose=False).failed:
            yield told.getvalue()
        return
    got = io.StringIO()
    try:
        with contextlib.redirect_stdout(got):
            exec(compile(block.text, where, "exec"), namespace)
    except Exception as error:
        yield f"{where}: {type(error).__name__}: {error}"
        return
    if block.shown is not None and not matches(block.shown, got.getvalue()):
        yield f"{where} shows\n{block.shown}\nbut gives\n{got.getvalue()}"


def _run_console(block: Block, where: str) -> Iterator[str]:
    code = 0
    for command, shown in _COMMAND.findall(block.text):
        words = shlex.split(command.replace("\\\n", " "), comments=True)
        if words == ["echo", "$?"]:
            got = str(code)
        elif words[0] == "princdiff":
            code, got = _run_command(words[1:])
        else:
            yield f"{where}: {words[0]} cannot be run here"
            continue
        if not matches(shown, got):
            yield f"{where}: $ {command}\nshows\n{shown}\nbut gives\n{got}"


class _Terminal(io.StringIO):
    """Standard output that can show every letter, as those of readers can."""

    encoding = "utf-8"


def _run_command(arguments: list[str]) -> tuple[int, str]:
    told = _Terminal()
    with contextlib.redirect_stdout(told), contextlib.redirect_stderr(told):
        try:
            code = main(arguments)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 2
    return int(code or 0), told.getvalue()


def _check_shell(block: Block, where: str) -> Iterator[str]:
    """Commands of a shell that are shown without their output."""
    from princdiff.cli.main import build_parser

    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    for line in block.text.replace("\\\n", " ").splitlines():
        words = shlex.split(line, comments=True)
        words = words[: next((i for i, word in enumerate(words) if word in (">", "|", ";", "&&")), None)]
        if words[:1] == ["princdiff"]:
            try:
                with contextlib.redirect_stdout(io.StringIO()):
                    build_parser().parse_args(words[1:])
            except SystemExit:
                continue
            except Exception as error:
                yield f"{where}: {line}: {error}"
        elif words[:1] == ["make"]:
            for target in words[1:]:
                if "=" not in target and not re.search(rf"^{target}:", makefile, flags=re.MULTILINE):
                    yield f"{where}: {line}: the Makefile has no {target}"
