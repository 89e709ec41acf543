import os
import subprocess
import sys

import numpy as np
import pytest

import princdiff
from princdiff.kernels import Kernel, build, describe_engine, engine
from princdiff.kernels.engine_choice import _load


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
    assert "PRINCDIFF_ENGINE must be one of auto, compiled, numpy: got 'fortran'" in refused.stderr


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


def test_without_a_compiler_building_says_so(monkeypatch, tmp_path, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.delenv("PRINCDIFF_REQUIRE_COMPILER", raising=False)
    with pytest.raises(build.CannotCompile, match="no C compiler was found"):
        build.build(tmp_path / "library.so")
    assert build.main([]) == 0
    assert "NumPy takes their place" in capsys.readouterr().out


def test_a_failing_compiler_is_told_with_its_words(monkeypatch, tmp_path):
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho 'out of cheese' >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CC", str(compiler))
    with pytest.raises(build.CannotCompile, match="out of cheese"):
        build.build(tmp_path / "library.so")
    assert not (tmp_path / "library.so").exists()


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
