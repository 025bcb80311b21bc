# Two commands: `make run` starts the app, `make test` checks it. Each sets up what it needs first.
# Where there is no make: python scripts/install.py, then .venv\Scripts\rag-app.

PYTHON ?= $(shell command -v python3 || command -v python || echo python3)
# Whoever has done a file takes the next one, in the order of the files.
ABREAST := -n auto --dist loadfile --no-loadscope-reorder
BIN := $(if $(filter Windows_NT,$(OS)),.venv/Scripts,.venv/bin)

.PHONY: run test test-oidc lint bench stress install install-dev pins

run: install
	$(BIN)/rag-app

# By as many processes as there are cores, a file each, those that take long first (tests/order.py);
# then what drives a browser, which wants the machine to itself. The second is run whatever came of
# the first. Tests start hundreds of Pythons, each of which would compile the app again where none
# may keep what it has compiled.
test: install-dev
	@failed=0; unset PYTHONDONTWRITEBYTECODE; \
	$(BIN)/python -m pytest -m "not browser" $(ABREAST) || failed=$$?; \
	$(BIN)/python -m pytest -m browser tests/e2e || failed=$$?; \
	exit $$failed

# The sign-in by a provider to the letter, npm's, which is put into build/; needs node.
test-oidc: install-dev
	npm install --silent --no-audit --no-fund --prefix build/oidc oidc-provider@9.13.3
	OIDC_PROVIDER=$(CURDIR)/build/oidc/node_modules $(BIN)/python -m pytest tests/test_sign_in_to_the_letter.py tests/e2e/test_sign_in_browser.py -k letter

lint: install-dev
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .
	$(BIN)/python -m mypy

bench: install-dev
	$(BIN)/python -m benchmarks.bench

# Adds odd files, and says what became of each: make stress STRESS=files.tar.gz [ARGS=--compare]
stress: install-dev
	$(BIN)/python -m benchmarks.stress $(STRESS) $(ARGS)

install:
	@$(PYTHON) scripts/install.py

install-dev:
	@$(PYTHON) scripts/install.py --dev

# Writes down what is installed, as versions only: no addresses, no build suffixes, no CUDA.
pins:
	$(BIN)/python -m pip freeze --all --exclude-editable \
		| grep -v -i -E '^(pip|nvidia-.*|cuda-.*|triton)==' | sed 's/+cpu$$//' > constraints.txt
