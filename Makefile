# Everything a developer types. The environment is made once, in .venv, and made again when the pins change.

PYTHON ?= python3
JOBS ?= 2
PY := .venv/bin/python
PIP := $(PY) -m pip --disable-pip-version-check -qq
PYTEST := $(PY) -m pytest --quiet --numprocesses $(JOBS) --dist worksteal
LOCK = $(PY) -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --custom-compile-command 'make lock' $(ARGS)

# Every bench but two that need a file of conversations, which is not shipped, and the clients that others start.
BENCHES = $(filter-out bench/fusion.py bench/locomo.py bench/serve_clients.py bench/mixed_clients.py, $(shell grep -l __main__ bench/*.py))

unexport PYTHONDONTWRITEBYTECODE # hundreds of tests start a process, and each would compile all files anew

.PHONY: help demo test soak bench picture lock clean

help: ## show this list
	@sed -n 's/^\([a-z]*\):.*## /\1\t/p' Makefile | expand -t 8

demo: .venv/ready ## see it work, in a folder that is thrown away
	@$(PY) docs/demo.py

test: .venv/ready ## the everyday check: lint, types, tests
	@echo 'ruff ...'; $(PY) -m ruff check --quiet .
	@echo 'mypy, pytest ...'; $(PY) -m mypy --strict --no-error-summary src & $(PYTEST); \
	  tested=$$?; wait $$! && exit $$tested

quick: .venv/ready ## lint, types, the import map and the tests of the pure packages: under 90 seconds
	@$(PY) -m ruff check --quiet . && $(PY) -m mypy --strict --no-error-summary src
	@$(PYTEST) tests/test_import_map.py tests/records tests/text tests/state tests/decide tests/consolidate tests/exchange

soak: .venv/ready ## the deep check: every property at length, kill loops (takes a good while)
	@HYPOTHESIS_PROFILE=deep TALLYSTICK_SOAK=1 $(PYTEST) -m 'soak or hypothesis' --durations 10 -o faulthandler_timeout=3600

bench: .venv/ready ## measure every part on this machine (takes a good while)
	@for each in $(BENCHES); do echo; echo "$$each ..."; $(PY) $$each || exit 1; done

picture: .venv/ready ## take the README's pictures of the page anew (needs chromium)
	@$(PY) -m tests.browser.picture

lock: .venv/ready ## write the pins anew after a change of dependencies; ARGS=--upgrade takes newer ones
	@$(LOCK) pyproject.toml --extra serve --output-file requirements/base.lock
	@$(LOCK) pyproject.toml requirements/dev.in --constraints requirements/base.lock --output-file requirements/dev.lock

clean: ## remove whatever the others made
	@rm -rf .venv build dist .hypothesis .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

.venv/pinned: requirements/dev.lock
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	  || { echo 'tallystick needs Python 3.11 or newer: make PYTHON=/path/to/python3.11' >&2; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null \
	  || { echo 'Python cannot make environments here: apt-get install python3-venv' >&2; exit 1; }
	@echo 'making .venv, once (needs the package index, takes about a minute) ...'
	@rm -rf .venv && $(PYTHON) -m venv .venv
	@$(PIP) install --no-compile --require-hashes -r requirements/dev.lock # what is used is compiled when it is used
	@touch $@

.venv/ready: .venv/pinned pyproject.toml
	@$(PIP) install --no-deps --no-build-isolation --editable .
	@touch $@
