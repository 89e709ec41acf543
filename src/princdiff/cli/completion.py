"""``princdiff completion``: a script that completes commands, options and their values in the shell.

It is made from the parser, so it cannot fall behind.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from princdiff.cli import argument_parser as types
from princdiff.cli.streams import SAME, say

_EXAMPLES = """\
examples:
  bash: source <(princdiff completion bash)                in ~/.bashrc
  zsh:  source <(princdiff completion zsh)                 in ~/.zshrc, behind compinit
  fish: princdiff completion fish > ~/.config/fish/completions/princdiff.fish
"""


@dataclass(frozen=True)
class ShellOption:
    """An option as a shell needs to know it.

    Attributes
    ----------
    name : str
        With its dashes.
    help : str
        One line.
    takes_value : bool
        Whether a value follows.
    choices : list of str
        The values, if only some are allowed; any file otherwise.
    """

    name: str
    help: str
    takes_value: bool
    choices: tuple[str, ...] = field(default_factory=tuple)


def add(commands: argparse._SubParsersAction, build_parser: Callable[[], types.Parser]) -> None:
    """Add the command to the parser."""
    parser = types.add_command(commands, "completion", "print a completion script for a shell", _EXAMPLES)
    parser.add_argument("shell", choices=tuple(_SCRIPTS), help="bash, zsh or fish")
    parser.add_argument("--debug", action="store_true", help=argparse.SUPPRESS)

    def run(arguments: argparse.Namespace) -> int:
        say(_SCRIPTS[arguments.shell](dict(described(build_parser()))))
        return SAME

    parser.set_defaults(run=run)


def described(parser: argparse.ArgumentParser) -> Iterator[tuple[str, tuple[str, list[ShellOption]]]]:
    """Each command with its help and its options."""
    (commands,) = (action for action in parser._actions if isinstance(action, argparse._SubParsersAction))
    helps = {action.dest: action.help or "" for action in commands._choices_actions}
    for name, command in commands.choices.items():
        options = [
            ShellOption(
                word,
                "" if action.help in (None, argparse.SUPPRESS) else str(action.help).replace("%%", "%"),
                action.nargs != 0,
                tuple(map(str, action.choices or ())),
            )
            for action in command._actions
            for word in [word for word in action.option_strings if word.startswith("--")][:1]
        ]
        positional = [action.choices for action in command._actions if not action.option_strings]
        options += [ShellOption(str(word), "", False) for choices in positional for word in choices or ()]
        yield name, (helps.get(name, ""), options)


def _bash(commands: dict[str, tuple[str, list[ShellOption]]]) -> str:
    cases = []
    for name, (_, options) in commands.items():
        words = " ".join(option.name for option in options)
        values = "".join(
            f"\n                {option.name}) words='{' '.join(option.choices)}' ;;"
            for option in options
            if option.choices
        )
        body = f"words='{words}'"
        if values:
            body += f'\n            case "$before" in{values}\n            esac'
        cases.append(f"        {name})\n            {body}\n            ;;")
    joined = "\n".join(cases)
    return f"""\
_princdiff() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}" words=''
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W '{" ".join(commands)} --help --version' -- "$current"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{joined}
    esac
    COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _princdiff princdiff"""


def _zsh(commands: dict[str, tuple[str, list[ShellOption]]]) -> str:
    def quoted(text: str) -> str:
        return text.replace("'", "'\\''").replace("[", "\\[").replace("]", "\\]").replace(":", "\\:")

    cases = []
    for name, (_, options) in commands.items():
        specs = []
        for option in options:
            if not option.name.startswith("-"):
                continue
            value = ""
            if option.takes_value:
                value = f":value:({' '.join(option.choices)})" if option.choices else ":value:_files"
            specs.append(f"'{option.name}[{quoted(option.help)}]{value}'")
        words = [option.name for option in options if not option.name.startswith("-")]
        specs.append(f"'*:value:({' '.join(words)})'" if words else "'*:file:_files'")
        cases.append(f"        {name}) _arguments {' '.join(specs)} ;;")
    listed = " ".join(f"'{name}:{quoted(text)}'" for name, (text, _) in commands.items())
    joined = "\n".join(cases)
    return f"""\
#compdef princdiff
_princdiff() {{
    local -a commands=({listed})
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
{joined}
    esac
}}
compdef _princdiff princdiff"""


def _fish(commands: dict[str, tuple[str, list[ShellOption]]]) -> str:
    def quoted(text: str) -> str:
        return text.replace("\\", "\\\\").replace("'", "\\'")

    lines = []
    for name, (text, options) in commands.items():
        lines.append(f"complete -c princdiff -n __fish_use_subcommand -f -a {name} -d '{quoted(text)}'")
        for option in options:
            seen = f"-n '__fish_seen_subcommand_from {name}'"
            if not option.name.startswith("-"):
                lines.append(f"complete -c princdiff {seen} -f -a {option.name}")
                continue
            value = ""
            if option.choices:
                value = f" -x -a '{' '.join(option.choices)}'"
            elif option.takes_value:
                value = " -r"
            lines.append(
                f"complete -c princdiff {seen} -l {option.name[2:]}{value} -d '{quoted(option.help)}'"
            )
    return "\n".join(lines)


_SCRIPTS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
