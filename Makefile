# The environment is made once in .venv and brought up to date only when pyproject.toml changes.
# Variables such as PRINCDIFF_DATA reach the tests whether they are exported or given to make:
#     make test PRINCDIFF_DATA=/where/the/data/is

PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
# An installation compiles the kernels too.
INSTALL = $(PY) -m pip install --quiet --disable-pip-version-check -e '.$(1)' && mkdir -p build && touch build/kernels.stamp

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: help demo test test-fast test-slow test-oldest test-newest coverage lint docs dist bench paper peers clean

help:
	@echo "make demo   what separates malignant from benign tumours: a table and a report"
	@echo "make test-fast   the tests for who is changing something: under two minutes of processor"
	@echo "make test   all tests that must hold (set PRINCDIFF_DATA to include those on real data)"
	@echo "make test-slow   simulations of the promises"
	@echo "make test-oldest, test-newest   the same with the oldest and the newest versions of everything"
	@echo "make test-engines   profiles made by every engine, Spark and Ray among them"
	@echo "make coverage   which lines no test reaches, into build/coverage"
	@echo "make lint   ruff and mypy"
	@echo "make docs   the site, into build/docs/html (it runs the tutorials)"
	@echo "make dist   source distribution and wheel, checked, installed and tried"
	@echo "make sanitize  the kernels' tests with the address and undefined-behaviour sanitizers"
	@echo "make bench  how near the engine is to its floor, into docs/performance.md"
	@echo "make paper  every figure and table of the paper (PRINCDIFF_DATA; QUICK=1 for a small run)"
	@echo "make peers  other libraries beside us (QUICK=1 for a small run)"
	@echo "make clean  remove caches and build products ($(VENV) stays)"

demo: $(VENV)/.stamp-report
	$(PY) -m princdiff.demo

# Tests of a file stay together as long as both processes have work: they share fixtures.
PYTEST := -m pytest -n 2 --dist worksteal -q

test: $(VENV)/.stamp-test kernels
	$(PY) $(PYTEST)

test-fast: $(VENV)/.stamp-test kernels
	$(PY) $(PYTEST) tests -m 'not slow and not whole'

test-slow: $(VENV)/.stamp-test kernels
	$(PY) $(PYTEST) tests -m slow

# The inner loops in C; a machine without a compiler does without, and says so.
KERNELS := src/princdiff/kernels

.PHONY: kernels sanitize
kernels: build/kernels.stamp

build/kernels.stamp: $(wildcard $(KERNELS)/*.c $(KERNELS)/*.h) $(KERNELS)/build.py | $(PY)
	PYTHONPATH=src $(PY) -m princdiff.kernels.build
	@mkdir -p build && touch $@

# Each pass of the library that this processor can run. The address sanitizer must be loaded before the interpreter,
# which itself leaks by its lights.
SANITIZED := LD_PRELOAD="$$($${CC:-cc} -print-file-name=libasan.so) $$($${CC:-cc} -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0 PYTHONPATH=src
RUNNABLE := from princdiff.kernels.engine_choice import engine, passes; print(*passes(engine().library)[0])

sanitize: $(VENV)/.stamp-test
	PYTHONPATH=src $(PY) -m princdiff.kernels.build --sanitize
	outcome=0; for pass in $$($(SANITIZED) PRINCDIFF_ENGINE=compiled $(PY) -c '$(RUNNABLE)' || echo none); do \
		echo "pass: $$pass"; \
		$(SANITIZED) PRINCDIFF_ENGINE=$$pass $(PY) -m pytest tests/kernels -q -p no:cacheprovider || outcome=1; \
	done; PYTHONPATH=src $(PY) -m princdiff.kernels.build; exit $$outcome

lint: $(VENV)/.stamp-dev
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy

docs: $(VENV)/.stamp-docs kernels
	$(PY) tools/build_docs.py

coverage: $(VENV)/.stamp-dev kernels
	$(PY) $(PYTEST) --cov --cov-report=term --cov-report=html:build/coverage --cov-report=xml:build/coverage.xml

# Profiles made by every engine, Spark (which needs Java) and Ray among them, in an environment of its own.
.PHONY: test-engines
test-engines: kernels
	$(PYTHON) -m venv build/engines
	build/engines/bin/python -m pip install --quiet --disable-pip-version-check -e '.[parquet,dask,duckdb,spark,ray,testing]'
	PRINCDIFF_ALL_ENGINES=1 build/engines/bin/python -m pytest -q -p no:cacheprovider tests/profiles/test_engines.py

# Each in an environment of its own. Without zarr 3, which the oldest anndata refuses beside it.
test-oldest: OLDEST := build/oldest/bin/python
test-oldest: kernels
	$(PYTHON) -m venv --clear build/oldest
	$(PY) tools/oldest_versions.py > build/oldest.txt
	$(OLDEST) -m pip install --quiet --disable-pip-version-check -c build/oldest.txt -e '.[anndata,parquet,dask,report,testing]'
	$(OLDEST) $(PYTEST) -p no:cacheprovider

# Without anndata, which holds pandas back.
test-newest: NEWEST := build/newest/bin/python
test-newest: kernels
	$(PYTHON) -m venv --clear build/newest
	$(NEWEST) -m pip install --quiet --disable-pip-version-check -e '.[parquet,dask,report,testing]' 'pandas>=3'
	$(NEWEST) $(PYTEST) -p no:cacheprovider

# The wheel where no compiler can be found, the source distribution where one must be.
dist: $(VENV)/.stamp-dev
	rm -rf dist build/try-wheel build/try-source
	$(PY) -m build
	$(PY) tools/check_dist.py dist/*
	$(PYTHON) -m venv build/try-wheel
	CC=no-compiler build/try-wheel/bin/python -m pip install --quiet --disable-pip-version-check dist/*.whl
	cd build && try-wheel/bin/python ../tools/smoke_test.py --compiled
	$(PYTHON) -m venv build/try-source
	PRINCDIFF_REQUIRE_COMPILER=1 build/try-source/bin/python -m pip install --quiet --disable-pip-version-check dist/*.tar.gz
	cd build && try-source/bin/python ../tools/smoke_test.py --compiled

bench: $(VENV)/.stamp-core kernels
	$(PY) -m benchmarks.engine --out docs/performance.md

# Each script writes its section; RESULTS.md is made from all that are there.
PAPER := fig1a fig1b fig1c brain theorems
PEERS := directions features tables
QUICK_FLAG := $(if $(QUICK),--quick)
COLLECT := $(PY) -m benchmarks.collect $(if $(QUICK),--results build/benchmarks-quick)

# Times are of one thread; threads that wait for each other would count as work.
paper peers: export OMP_NUM_THREADS := 1

paper: $(VENV)/.stamp-bench kernels
	for name in $(PAPER); do $(PY) -m benchmarks.paper.$$name $(QUICK_FLAG) || exit 1; done
	$(COLLECT)

# A small run does without alibi-detect, whose environment takes long to install.
peers: $(VENV)/.stamp-bench kernels $(if $(QUICK),,build/alibi/.stamp)
	for name in $(PEERS); do $(PY) -m benchmarks.peers.$$name $(QUICK_FLAG) || exit 1; done
	$(PY) -m benchmarks.harness $(QUICK_FLAG)
	$(PY) -m benchmarks.evidence $(QUICK_FLAG)
	$(COLLECT)

clean:
	rm -rf build dist docs/auto_tutorials docs/reference/api .coverage .pytest_cache .mypy_cache .ruff_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
	if [ -d benchmarks ]; then find benchmarks -name __pycache__ -type d -prune -exec rm -rf {} +; fi

$(PY):
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit("princdiff needs Python 3.11 or newer, but $(PYTHON) is " + sys.version.split()[0] + ": say which to use with make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

# The report of the demo needs its extra.
$(VENV)/.stamp-report: pyproject.toml | $(PY)
	$(call INSTALL,[report])
	@touch $@ $(VENV)/.stamp-core

# Order-only on the interpreter: its time stamp is the system's and says nothing about ours.
$(VENV)/.stamp-core: pyproject.toml | $(PY)
	$(call INSTALL,)
	@touch $@

$(VENV)/.stamp-test: pyproject.toml | $(PY)
	$(call INSTALL,[test])
	@touch $@ $(VENV)/.stamp-docs $(VENV)/.stamp-report $(VENV)/.stamp-core

$(VENV)/.stamp-dev: pyproject.toml | $(PY)
	$(call INSTALL,[dev])
	@touch $@ $(VENV)/.stamp-test $(VENV)/.stamp-docs $(VENV)/.stamp-report $(VENV)/.stamp-core

$(VENV)/.stamp-docs: pyproject.toml | $(PY)
	$(call INSTALL,[docs])
	@touch $@ $(VENV)/.stamp-report $(VENV)/.stamp-core

# The peers hold pandas back and take long to install, so the tests do without them.
$(VENV)/.stamp-bench: pyproject.toml | $(PY)
	$(call INSTALL,[bench])
	@touch $@ $(VENV)/.stamp-core

# alibi-detect needs NumPy below 2; where it does not install, its row of the table has a dash.
build/alibi/.stamp:
	$(PYTHON) -m venv $(@D)
	$(@D)/bin/python -m pip install --quiet --disable-pip-version-check 'alibi-detect>=0.12' 'numpy<2' || rm -r $(@D)/bin
	@touch $@
