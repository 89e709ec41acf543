"""Pages that are made from something else, so that they cannot disagree with it.

The command line's comes from its parser. Files of the source's top folder, which people also read where the
source is kept, are taken over with their links led to the pages of the site.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx
from sphinx.errors import ExtensionError

from princdiff.cli.main import build_parser

# Not resolved: a quick build works on a copy of docs/ beside links to the rest.
ROOT = Path(__file__).parents[2]
# Page of the site, file it is made of, links that lead elsewhere there.
COPIES = (
    ("reference/changelog.md", "CHANGELOG.md", {}),
    ("reference/results.md", "benchmarks/RESULTS.md", {"](results/": "](../../benchmarks/results/"}),
    (
        "contributing/contributing.md",
        "CONTRIBUTING.md",
        {
            "](CODE_OF_CONDUCT.md)": "](code_of_conduct.md)",
            "`docs/decisions/`": "[The decisions](../decisions/index.md)",
        },
    ),
    ("contributing/code_of_conduct.md", "CODE_OF_CONDUCT.md", {}),
    ("contributing/security.md", "SECURITY.md", {}),
)


CLI_HEAD = """# Command line

Made from the program's own parser. `princdiff <command> --help` prints the same in one screen.

"""


def command_reference(parser: argparse.ArgumentParser) -> str:
    """Every command with its own help and a table of its options, in Markdown."""
    commands = next(a for a in parser._actions if isinstance(a, argparse._SubParsersAction))
    texts = {choice.dest: choice.help for choice in commands._choices_actions}
    return "\n".join(_command(name, sub, texts.get(name)) for name, sub in commands.choices.items())


def _command(name: str, parser: argparse.ArgumentParser, what: str | None) -> str:
    lines = [f"## princdiff {name}", "", _sentence(parser.description or what or ""), ""]
    lines += ["```text", parser.format_usage().strip(), "```", ""]
    for group in parser._action_groups:
        actions = [action for action in group._group_actions if action.help != argparse.SUPPRESS]
        if not actions:
            continue
        lines += [f"### {name}: {group.title}", "", "| | |", "|---|---|"]
        lines += [f"| {_names(action)} | {_help(action, parser)} |" for action in actions]
        lines += [""]
    if parser.epilog:
        lines += ["```text", parser.epilog.strip(), "```", ""]
    return "\n".join(lines)


def _names(action: argparse.Action) -> str:
    value = action.metavar or (action.dest.upper() if action.nargs != 0 else "")
    if action.choices is not None:
        value = "{" + ",".join(map(str, action.choices)) + "}"
    if not action.option_strings:
        return _code(str(value))
    text = ", ".join(action.option_strings)
    return _code(text + (f" {value}" if action.nargs != 0 and value else ""))


def _help(action: argparse.Action, parser: argparse.ArgumentParser) -> str:
    text = (action.help or "") % {**vars(action), "prog": parser.prog} if action.help else ""
    return " ".join(_sentence(text).split()).replace("|", "\\|").replace("<", "&lt;")


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:] if text else text


def _code(text: str) -> str:
    return "`" + " ".join(text.split()).replace("|", "\\|") + "`"


def copied_page(source: str, links: dict[str, str]) -> str:
    """A file of the source as a page: links replaced, and HTML anchors as targets, which are checked."""
    text = (ROOT / source).read_text()
    for old, new in links.items():
        if old not in text:
            raise ExtensionError(f"{source} has no {old!r} to be replaced")
        text = text.replace(old, new)
    return re.sub(r'<a id="([\w-]+)"></a>', r"(\1)=", text)


def _write(app: Sphinx) -> None:
    pages = {page: copied_page(source, links) for page, source, links in COPIES}
    pages["reference/cli.md"] = CLI_HEAD + command_reference(build_parser())
    for page, text in pages.items():
        path = Path(app.srcdir) / page
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def setup(app: Sphinx) -> dict[str, Any]:
    """Register with Sphinx."""
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
