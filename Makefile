# Needs only make and Python 3.11 to 3.15: every target installs what it uses.

PY := .venv/bin/python
FUZZ_SECONDS ?= 300
# The versions of Python on which `make test` runs besides that of .venv, if they are installed. Default: all supported ones.
VERSIONS ?=
# Python must write bytecode caches: without them, each of the hundreds of processes that the tests start compiles its imports.
unexport PYTHONDONTWRITEBYTECODE
FUZZ_REQUESTS ?= 100000
FUZZ_EDITS ?= 10000
SCHEMATHESIS_EXAMPLES ?= 200
SOAK_KILLS ?= 50
SOAK_LOG_ROUNDS ?= 60
SOAK_MEMORY_KILLS ?= 200
SOAK_REMEMBERED ?= 10000
SOAK_SCHEDULED ?= 10000
SOAK_SECONDS ?= 600

.PHONY: help setup run examples test quick lint format docs editors wasm playground bench fuzz soak clean

help:
	@echo "make help    this list"
	@echo "make setup   make .venv with the locked dependencies"
	@echo "make run     start the platform, deploy two programs to it and show them (DATA=FOLDER keeps it)"
	@echo "make examples   run the example programs on their data"
	@echo "make test    lint, the WebAssembly modules, every test; what depends on Python on each of 3.11 to 3.15 found"
	@echo "make quick   what differs from main: lint, types, and the tests that belong to it and need no server (a minute)"
	@echo "make lint    ruff and mypy"
	@echo "make format  let ruff and lang fmt lay out the sources"
	@echo "make docs    write the generated files: parse table, docs/builtins.md, the editors' grammar"
	@echo "make editors build the extension for Visual Studio Code, dist/lang.vsix (needs Node with npm)"
	@echo "make wasm    build the WebAssembly modules into dist/ (Linux on x86-64; needs npm and apt-get)"
	@echo "make playground   serve the playground on http://127.0.0.1:8000/ (needs make wasm)"
	@echo "make bench   measure speed against other languages"
	@echo "make fuzz    long random tests (FUZZ_SECONDS=300 FUZZ_REQUESTS=100000 FUZZ_EDITS=10000)"
	@echo "make soak    writers and a service that are killed again and again, memories, many schedules, log lines and made requests"
	@echo "             (SOAK_SECONDS=600 SOAK_KILLS=50 SOAK_SCHEDULED=10000 SOAK_LOG_ROUNDS=60 SOAK_REMEMBERED=10000 SOAK_MEMORY_KILLS=200 SCHEMATHESIS_EXAMPLES=200)"
	@echo "make clean   remove environments, caches and build products"

setup:
	@.ci/environment .venv

run: setup
	@.ci/sandbox
	@DATA="$(DATA)" $(PY) examples/platform/run.py

examples: setup
	@PATH="$(CURDIR)/.venv/bin:$$PATH" examples/run_all.sh

test: setup
	@.ci/test $(VERSIONS)

quick: setup
	@.ci/quick

lint: setup
	$(PY) -m ruff check .
	$(PY) -m ruff format --check .
	$(PY) -m mypy --strict

format: setup
	$(PY) -m ruff check --fix .
	$(PY) -m ruff format .
	$(PY) -m language fmt examples

docs: setup
	$(PY) -m language.syntax.table_maker
	$(PY) docs/generate.py
	$(PY) editors/vscode/generate.py
	$(PY) -m wasm_abi.playground.generate

editors: setup
	@.ci/node editors/vscode .venvs/editors
	@$(PY) editors/vscode/package.py

wasm: setup
	@$(PY) -m wasm_abi.build

playground: setup
	@$(PY) -m wasm_abi.playground

bench:
	@.ci/servers
	@.ci/environment .venvs/bench "" bench
	@.ci/node tests/bench/npm .venvs/bench-node
	.venvs/bench/bin/python tests/bench/all.py

fuzz: setup
	$(PY) tests/fuzz.py --seconds $(FUZZ_SECONDS)
	$(PY) tests/native/server/request_fuzz.py --inputs $(FUZZ_REQUESTS)
	$(PY) tests/lsp/edit_fuzz.py --edits $(FUZZ_EDITS)

soak: setup
	SOAK_SECONDS=$(SOAK_SECONDS) $(PY) -m pytest -q tests/platform_api/store/test_write_ahead_log.py
	SOAK_REMEMBERED=$(SOAK_REMEMBERED) SOAK_MEMORY_KILLS=$(SOAK_MEMORY_KILLS) $(PY) -m pytest -q tests/native/test_memory_killed.py
	SOAK_KILLS=$(SOAK_KILLS) $(PY) -m pytest -q -s tests/platform_api/test_killed_service.py
	SOAK_SCHEDULED=$(SOAK_SCHEDULED) $(PY) -m pytest -q -s tests/platform_api/runs/test_scheduled_runs.py
	SOAK_LOG_ROUNDS=$(SOAK_LOG_ROUNDS) $(PY) -m pytest -q tests/platform_api/records/test_logs.py -k fifty_write_at_once
	SCHEMATHESIS_EXAMPLES=$(SCHEMATHESIS_EXAMPLES) $(PY) -m pytest -q tests/platform_api/api/test_interface_requests.py

clean:
	rm -rf .venv .venvs .pytest_cache .mypy_cache .ruff_cache .hypothesis .cache build dist
