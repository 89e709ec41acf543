"""What a release rests on: one version, a changelog that tells it, and a recipe that needs the same."""

from __future__ import annotations

import datetime
import re
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import jinja2
import pytest
import yaml

import princdiff
from tools import check_dist, oldest_versions, release_notes

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
NAME = {"matplotlib-base": "matplotlib"}


def test_the_version_stands_in_one_place():
    assert "version" in PROJECT["project"]["dynamic"]
    assert check_dist.source_version() == princdiff.__version__
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["version"] == princdiff.__version__
    assert f'{{% set version = "{princdiff.__version__}" %}}' in (ROOT / "recipe" / "meta.yaml").read_text()


def test_the_conda_recipe_needs_what_the_package_needs():
    text = (ROOT / "recipe" / "meta.yaml").read_text()
    run = text.split("  run:\n")[1].split("\n\n")[0]
    needed = dict(re.findall(r"- ([\w-]+) >=([\d.]+)", run))
    assert needed.pop("python") == PROJECT["project"]["requires-python"].removeprefix(">=")
    wanted = dict(requirement.split(">=") for requirement in PROJECT["project"]["dependencies"])
    assert {NAME.get(name, name): version for name, version in needed.items()} == wanted


def test_the_conda_recipe_renders_to_a_package_with_source_home_and_maintainers():
    text = (ROOT / "recipe" / "meta.yaml").read_text()
    # The selectors of other platforms are comments, so that all lines are of one recipe.
    words = {"PYTHON": "python", "target_platform": "linux-64"}
    page = jinja2.Template(text).render(
        **words, compiler=lambda name: f"{name}_compiler", stdlib=lambda name: f"{name}_stdlib"
    )
    recipe = yaml.safe_load(page)
    home = PROJECT["project"]["urls"]["Homepage"]
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text())["repository-code"] == home
    assert recipe["about"]["home"] == home
    assert recipe["source"]["url"].startswith(home)
    assert recipe["source"]["url"].endswith(f"princdiff-{princdiff.__version__}.tar.gz")
    assert recipe["source"]["sha256"]
    assert recipe["extra"]["recipe-maintainers"]
    assert all((ROOT / name).exists() for name in recipe["test"]["source_files"])


@pytest.mark.parametrize("path", sorted((ROOT / ".github" / "workflows").glob("*.yml")), ids=lambda p: p.name)
def test_workflows_pin_actions_by_hash(path):
    used = re.findall(r"uses: (\S+)(.*)", path.read_text())
    assert used
    for action, comment in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", action), action
        assert re.fullmatch(r" # v\d+\.\d+\.\d+", comment), f"{action} does not say which version it is"


def test_wheels_are_tried_with_what_they_need_and_nothing_else():
    wheels = PROJECT["tool"]["cibuildwheel"]
    assert "test-extras" not in wheels
    script = re.search(r"\{project\}/(\S+)", wheels["test-command"])[1]
    imported = re.findall(r"^(?:import|from) (\w+)", (ROOT / script).read_text(), flags=re.MULTILINE)
    assert set(imported) <= {*sys.stdlib_module_names, "numpy", "princdiff"}


def _sections():
    text = (ROOT / "CHANGELOG.md").read_text()
    return re.findall(r"^## \[(.+?)\](?: - (\S+))?\n(.*?)(?=^## |\Z)", text, flags=re.MULTILINE | re.DOTALL)


def test_the_changelog_has_a_dated_section_for_each_release_and_one_for_what_comes():
    sections = _sections()
    assert sections[0][0] == "Unreleased"
    assert not sections[0][1]
    dates = [datetime.date.fromisoformat(date) for _, date, _ in sections[1:]]
    assert dates == sorted(dates, reverse=True)
    numbers = [tuple(map(int, name.split("."))) for name, _, _ in sections[1:]]
    assert numbers == sorted(numbers, reverse=True)
    assert len(set(numbers)) == len(numbers)


def test_changes_are_of_a_known_kind_and_are_entries():
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    for name, _, text in _sections():
        parts = re.split(r"^### (.+)$", text, flags=re.MULTILINE)
        assert not parts[0].strip(), f"{name}: text before the first kind"
        assert set(parts[1::2]) <= kinds, name
        for entries in parts[2::2]:
            lines = [line for line in entries.splitlines() if line.strip()]
            assert lines and lines[0].startswith("- "), name
            assert all(line.startswith(("- ", "  ")) for line in lines), name


def test_the_notes_of_a_release_are_its_section():
    parts = [
        "# Changelog",
        "## [Unreleased]",
        "## [0.2.0] - 2027-01-02",
        "- More.",
        "## [0.1.0] - 2026-01-02",
        "x",
    ]
    changelog = "\n\n".join(parts)
    assert release_notes.notes("v0.2.0", changelog) == "- More.\n"
    assert release_notes.notes("0.1.0", changelog) == "x\n"
    for version in ("v0.3.0", "Unreleased", "0.2"):
        with pytest.raises(SystemExit, match="has no section for"):
            release_notes.notes(version, changelog)


def test_every_public_function_and_class_is_told_in_the_changelog():
    text = (ROOT / "CHANGELOG.md").read_text()
    results = {name for name in princdiff.__all__ if name.endswith("Result")}
    for name in set(princdiff.__all__) - results - {"__version__"}:
        assert re.search(rf"\b{name}\b", text), name


def test_the_lowest_versions_are_those_of_the_project():
    lines = oldest_versions.constraints()
    assert "numpy==2.0.*" in lines
    assert "anndata==0.11.*" in lines
    assert len(lines) == len({line.split("==")[0] for line in lines})
    assert len(lines) > len(PROJECT["project"]["dependencies"])


def test_a_dependency_without_a_lowest_version_is_refused(tmp_path):
    path = tmp_path / "pyproject.toml"
    extras = "".join(f"{name} = []\n" for name in oldest_versions.CAPABILITIES)
    path.write_text(f'[project]\ndependencies = ["numpy"]\n[project.optional-dependencies]\n{extras}')
    with pytest.raises(ValueError, match=r"'numpy' in pyproject\.toml has no lowest version"):
        oldest_versions.constraints(path)


def _wheel(folder, *, without=(), beside=(), tag="py3-none-linux_x86_64", version=princdiff.__version__):
    info = f"princdiff-{version}.dist-info"
    names = {name: "" for name in check_dist.package_files()}
    names["princdiff/kernels/_library.so"] = ""
    names[f"{info}/METADATA"] = f"Name: princdiff\nVersion: {version}\nLicense-Expression: BSD-3-Clause\n"
    names[f"{info}/entry_points.txt"] = "[console_scripts]\nprincdiff = princdiff.cli:main\n"
    names |= {f"{info}/{name}": "" for name in ("WHEEL", "RECORD", "licenses/LICENSE")}
    names |= dict.fromkeys(beside, "")
    path = folder / f"princdiff-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, text in names.items():
            if name not in without:
                wheel.writestr(name, text)
    return path


def test_a_wheel_with_what_it_must_hold_passes(tmp_path, capsys):
    assert check_dist.check_wheel(_wheel(tmp_path)) == []
    assert (
        check_dist.main([str(tmp_path / f"princdiff-{princdiff.__version__}-py3-none-linux_x86_64.whl")]) == 0
    )
    assert "nothing else" in capsys.readouterr().out


def test_a_wheel_without_a_library_may_say_why(tmp_path):
    without = {"without": ["princdiff/kernels/_library.so"], "tag": "py3-none-any"}
    assert check_dist.check_wheel(_wheel(tmp_path, **without, beside=[check_dist.REASON])) == []
    problems = check_dist.check_wheel(_wheel(tmp_path, beside=[check_dist.REASON]))
    assert problems == ["holds princdiff/kernels/_library.txt, which does not belong there"]


@pytest.mark.parametrize(
    ("made", "found"),
    [
        ({"without": ["princdiff/py.typed"]}, "lacks princdiff/py.typed"),
        ({"without": ["princdiff/show/page.css"]}, "lacks princdiff/show/page.css"),
        ({"beside": ["tests/test_a.py"]}, "holds tests/test_a.py"),
        ({"beside": ["princdiff/__pycache__/a.pyc"]}, "holds princdiff/__pycache__/a.pyc"),
        ({"beside": ["princdiff/kernels/_library.dll"]}, "more than one compiled library"),
        ({"without": ["princdiff/kernels/_library.so"]}, "is tagged linux_x86_64 without a compiled library"),
        ({"tag": "py3-none-any"}, "is tagged any with a compiled library"),
        ({"tag": "cp311-cp311-linux_x86_64"}, "one wheel should serve all versions"),
        ({"version": "9.9.9"}, "its version is not that of the source"),
    ],
)
def test_what_is_wrong_with_a_wheel_is_found(tmp_path, made, found):
    assert any(found in problem for problem in check_dist.check_wheel(_wheel(tmp_path, **made)))


def test_what_is_wrong_with_a_source_distribution_is_found(tmp_path):
    top = f"princdiff-{princdiff.__version__}"
    path = tmp_path / f"{top}.tar.gz"
    names = [*check_dist.SOURCE_NEEDS, *(f"src/{name}" for name in check_dist.package_files())]
    names.remove("hatch_build.py")
    (tmp_path / "empty").write_text("")
    with tarfile.open(path, "w:gz") as archive:
        for name in [*names, "src/princdiff/kernels/_library.so", "secrets/key"]:
            archive.add(tmp_path / "empty", f"{top}/{name}")
        archive.add(tmp_path / "empty", "elsewhere")
    assert check_dist.check_source(path) == [
        f"holds elsewhere outside of {top}",
        "lacks hatch_build.py",
        "holds src/princdiff/kernels/_library.so, which does not belong there",
        "holds the folder secrets",
    ]
