import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import princdiff
from princdiff.kernels import Kernel, build, describe_engine, engine
from princdiff.kernels.engine_choice import _load, passes


def run_python(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


def test_the_environment_chooses_the_engine():
    code = "from princdiff.kernels import engine; print(engine().name)"
    assert run_python(code, PRINCDIFF_ENGINE="numpy").stdout.strip() == "numpy"
    refused = run_python(code, PRINCDIFF_ENGINE="fortran")
    assert refused.returncode != 0
    assert (
        "PRINCDIFF_ENGINE must be one of auto, compiled, numpy, avx512, avx2, plain: got 'fortran'"
        in refused.stderr
    )


def test_a_missing_library_leaves_numpy(monkeypatch, tmp_path):
    monkeypatch.setattr(build, "LIBRARY", tmp_path / "none.so")
    found = _load()
    assert found.name == "numpy"
    assert "not compiled" in found.reason


def test_a_file_that_is_no_library_leaves_numpy(monkeypatch, tmp_path):
    broken = tmp_path / "broken.so"
    broken.write_bytes(b"no library")
    monkeypatch.setattr(build, "LIBRARY", broken)
    assert "cannot be loaded" in _load().reason


def test_without_a_compiler_building_says_so_and_keeps_the_reason(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("PRINCDIFF_REQUIRE_COMPILER", raising=False)
    monkeypatch.setattr(build, "REASON", tmp_path / "reason.txt")
    monkeypatch.setattr(build, "LIBRARY", tmp_path / "none.so")
    with pytest.raises(build.CannotCompile, match="no C compiler was found"):
        build.build(tmp_path / "library.so")
    assert build.main([]) == 0
    assert "NumPy takes their place" in capsys.readouterr().out
    assert _load().reason.endswith(
        "when princdiff was installed: no C compiler was found (cc, gcc or clang; CC names another)"
    )


def compiler(folder, name, refuses=None):
    """A compiler that says no, to everything or to some of the flags, and else makes empty files."""
    path = folder / name
    fails = "echo 'out of cheese' >&2; exit 1"
    lines = [
        "#!/bin/sh",
        'echo "$0 $*" >> "$0.log"',
        'if [ "$1" = --version ]; then echo "a compiler"; exit; fi',
    ]
    lines += [f'case "$*" in *{refuses}*) {fails};; esac'] if refuses else []
    lines += ['case "$*" in *-shared*) while [ $# -gt 1 ]; do [ "$1" = -o ] && : > "$2"; shift; done;; esac']
    lines += [] if refuses else [fails]
    path.write_text("\n".join(lines))
    path.chmod(0o755)
    return path


def test_a_failing_compiler_is_told_with_its_words(monkeypatch, tmp_path):
    monkeypatch.setenv("CC", str(compiler(tmp_path, "cc")))
    with pytest.raises(build.CannotCompile, match="out of cheese"):
        build.build(tmp_path / "library.so")
    assert not (tmp_path / "library.so").exists()


def test_where_a_compiler_fails_the_next_one_is_tried(monkeypatch, tmp_path):
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(build, "find_compilers", lambda: [[str(path)] for path in found])
    found = [compiler(tmp_path, "cc"), compiler(tmp_path, "gcc", refuses="-no-such-flag")]
    build.build(tmp_path / "library.so")
    assert (tmp_path / "library.so").exists()


@pytest.mark.parametrize("refused", ["-mavx512f", "-mavx2", "-fPIC", "-lm"])
def test_what_a_compiler_does_not_know_is_left_out(monkeypatch, tmp_path, refused):
    path = compiler(tmp_path, "cc", refuses=refused)
    monkeypatch.setenv("CC", str(path))
    build.build(tmp_path / "library.so")
    linked = [line for line in Path(f"{path}.log").read_text().splitlines() if "-shared" in line]
    assert refused not in linked[-1]
    made = [line for line in Path(f"{path}.log").read_text().splitlines() if "energy.c" in line]
    assert any(refused not in line for line in made)


def test_a_pass_may_be_asked_for_if_the_processor_can_run_it():
    if engine().library is None:
        pytest.skip(f"needs the compiled library: {engine().reason}")
    code = "from princdiff.kernels import describe_engine; print(describe_engine())"
    runnable, _ = passes(engine().library)
    for name in ("plain", "avx2", "avx512"):
        told = run_python(code, PRINCDIFF_ENGINE=name)
        if name in runnable:
            assert told.stdout.strip().endswith(f"PRINCDIFF_ENGINE={name})"), told.stderr
        else:
            assert f"PRINCDIFF_ENGINE={name}, but this processor cannot run it" in told.stderr


def test_what_the_compiler_could_not_make_is_said():
    class Plain:
        """A library of one pass, on a processor with wide registers."""

        def pd_processor(self):
            return 2

        def pd_sources(self):
            raise NotImplementedError

    assert passes(Plain()) == (["plain"], ["avx512", "avx2"])


def test_a_library_of_other_sources_is_not_used(monkeypatch):
    if engine().library is None:
        pytest.skip(f"needs the compiled library: {engine().reason}")
    monkeypatch.setattr(build, "fingerprint", lambda: "another")
    with pytest.warns(UserWarning, match="older than their sources"):
        assert _load().name == "numpy"


def test_arrays_of_another_type_or_layout_are_refused():
    kernel = Kernel("pd_sources", "f32*")
    if not kernel.available:
        with pytest.raises(RuntimeError, match="not compiled"):
            kernel(np.zeros(2, np.float32))
        return
    with pytest.raises(TypeError, match="contiguous array of float32: got a contiguous one of float64"):
        kernel(np.zeros(2))
    with pytest.raises(TypeError, match="got a strided one"):
        kernel(np.zeros(4, np.float32)[::2])
    with pytest.raises(TypeError, match="takes 1 arguments: got 2"):
        kernel(np.zeros(2, np.float32), 1)


def test_the_engine_is_shown(capsys):
    princdiff.show_config()
    shown = capsys.readouterr().out
    assert f"engine        {describe_engine()}" in shown
    assert f"numpy         {np.__version__}" in shown
    told = run_python(
        "from princdiff.cli import main; import sys; sys.exit(main(['--version']))", PRINCDIFF_ENGINE="numpy"
    )
    assert told.returncode == 0
    assert told.stdout.splitlines() == [
        f"princdiff {princdiff.__version__}",
        "engine: NumPy (PRINCDIFF_ENGINE=numpy)",
    ]
