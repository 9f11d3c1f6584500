# What one does with minutebook, from nothing but python3 and make.
#
# Each target makes the virtual environment that it needs under .venv/, once;
# a second call only runs. PYTHON=python3.13 gives that version its own
# environments. QUIET=1 says less. CI runs these very targets.

PYTHON ?= python3
EXTRAS ?= all
QUIET ?=
ARGS ?=
# How many test processes; 0 runs them all in one, for a debugger.
JOBS ?= 2
# More arguments for pytest, and what to run in place of the whole suite.
PYTEST_ARGS ?=
COVERAGE_MIN ?= 95

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory

ifneq ($(MAKECMDGOALS),)
ifneq ($(filter-out help clean,$(MAKECMDGOALS)),)
PYTHON_VERSION := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)
ifeq ($(PYTHON_VERSION),)
$(error "$(PYTHON)" does not run here; name another one: make $(MAKECMDGOALS) PYTHON=/path/to/python3)
endif
ifneq ($(filter 2.% 3.0 3.1 3.2 3.3 3.4 3.5 3.6 3.7 3.8 3.9 3.10,$(PYTHON_VERSION)),)
$(error minutebook needs Python 3.11 or newer, and "$(PYTHON)" is $(PYTHON_VERSION); name another one: make $(MAKECMDGOALS) PYTHON=python3.11)
endif
endif
endif

comma := ,
empty :=
space := $(empty) $(empty)

# The environment of the tests is named after its extras: "dev" has them all,
# "core" none, so that neither can stand in for the other.
EXTRAS_NAME := $(subst $(space),-,$(strip $(subst $(comma),$(space),$(EXTRAS))))
TEST_NAME := $(if $(EXTRAS_NAME),$(if $(filter all,$(EXTRAS_NAME)),dev,dev-$(EXTRAS_NAME)),core)

RUN := .venv/run-$(PYTHON_VERSION)
DEV := .venv/dev-$(PYTHON_VERSION)
TEST := .venv/$(TEST_NAME)-$(PYTHON_VERSION)
DOCS := .venv/docs-$(PYTHON_VERSION)
INTEGRATIONS := .venv/integrations-$(PYTHON_VERSION)
RUN_PY := $(RUN)/bin/python
DEV_PY := $(DEV)/bin/python
TEST_PY := $(TEST)/bin/python
DOCS_PY := $(DOCS)/bin/python

# What each environment holds. The environment's name is the target's stem.
packages_run := .
packages_dev := .[all,test,browser,check,bench]
packages_core := .[test]
packages_docs := .[docs]
packages_integrations := .[all,integrations,test]
packages_$(TEST_NAME) ?= .[$(subst $(space),$(comma),$(strip $(subst $(comma),$(space),$(EXTRAS)))),test]

# Kimi CLI has an environment of its own, since it needs Python 3.12 and pins much.
KIMI_VERSION := 1.52.0
KIMI := .venv/kimi-$(KIMI_VERSION)
KIMI_CANDIDATES = $(PYTHON) python3.14 python3.13 python3.12 $(wildcard $(HOME)/.pyenv/versions/3.1[2-9]*/bin/python3)
KIMI_PYTHON ?= $(firstword $(foreach python,$(KIMI_CANDIDATES),$(shell $(python) -c 'import sys; sys.version_info >= (3, 12) and print("$(python)")' 2>/dev/null)))

PYTEST := $(TEST_PY) -m pytest -n $(JOBS) $(if $(QUIET),-q,) $(PYTEST_ARGS)
# Without the extras a part of src cannot run, so the gate stands only with them all.
COVERAGE := $(if $(filter all,$(EXTRAS_NAME)),--cov --cov-branch --cov-report=term:skip-covered --cov-fail-under=$(COVERAGE_MIN),)
CHECKED := $(wildcard src tests benchmarks examples)

.PHONY: help run test test-crash test-kimi test-integrations fuzz check format \
  bench bench-gateway campaign-gateway campaign-providers browser docs clean

help: ## say what there is
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

run: $(RUN)/.stamp ## compact the example session; ARGS="inspect PATH" runs that command line
ifeq ($(strip $(ARGS)),)
	@$(RUN_PY) examples/demo.py
else
	@$(RUN)/bin/minutebook $(ARGS)
endif

test: $(TEST)/.stamp $(if $(filter all,$(EXTRAS_NAME)),browser) ## run the whole suite with coverage; EXTRAS= without the extras
	@$(PYTEST) $(COVERAGE)

# Debian's Chromium and Prometheus, for the tests of the viewer and of the meters: where they may
# not be installed those tests are skipped.
browser:
	@command -v chromium > /dev/null && command -v promtool > /dev/null || { \
	  if [ "$$(id -u)" = 0 ] && command -v apt-get > /dev/null; then \
	    echo 'make: installing Chromium and Prometheus, which the tests use'; \
	    apt-get install --yes -qq chromium fonts-wqy-zenhei prometheus > /dev/null 2>&1; \
	  fi; \
	  command -v chromium > /dev/null || \
	    echo 'make: no Chromium: the viewer is not tested in a browser (apt install chromium)' >&2; \
	  command -v promtool > /dev/null || \
	    echo 'make: no Prometheus: rules and dashboard are not tested (apt install prometheus)' >&2; }

test-crash: $(TEST)/.stamp ## run the crash tests alone, and search longer
	@MINUTEBOOK_CRASH=long $(PYTEST) -m crash

test-kimi: $(TEST)/.stamp ## let Kimi CLI work on our sessions; installs it, needs Python 3.12
	@python='$(KIMI_PYTHON)'; \
	if [ -z "$$python" ]; then \
	  echo 'make: skipped: Kimi CLI needs Python 3.12 or newer, and none was found' >&2; \
	  echo 'make: name one: make test-kimi KIMI_PYTHON=/path/to/python3.12' >&2; \
	else \
	  $(MAKE) $(KIMI)/.stamp KIMI_PYTHON="$$python" && \
	  MINUTEBOOK_KIMI='$(CURDIR)/$(KIMI)/bin/python' $(PYTEST) -m kimi; \
	fi

test-integrations: $(INTEGRATIONS)/.stamp ## run what plugs into frameworks against the real ones
	@MINUTEBOOK_INTEGRATIONS=all $(INTEGRATIONS)/bin/python -m pytest -n $(JOBS) $(if $(QUIET),-q,) $(PYTEST_ARGS) \
	  tests/integrations tests/cli/test_mcp_serving.py

fuzz: $(TEST)/.stamp ## run the property tests on new random cases, many of them
	@MINUTEBOOK_HYPOTHESIS=fuzz $(PYTEST) -m hypothesis

check: $(DEV)/.stamp ## check format, lint, types and the floors
	@$(DEV_PY) -m ruff format --check $(if $(QUIET),--quiet,) $(CHECKED)
	@$(DEV_PY) -m ruff check $(if $(QUIET),--quiet,) $(CHECKED)
	@$(DEV_PY) -m mypy $(CHECKED)
	@$(DEV)/bin/lint-imports --no-logo

format: $(DEV)/.stamp ## format the code and mend what can be mended
	@$(DEV_PY) -m ruff check --fix-only --quiet $(CHECKED)
	@$(DEV_PY) -m ruff format $(if $(QUIET),--quiet,) $(CHECKED)

bench: $(DEV)/.stamp ## measure; ARGS passes arguments
	@$(DEV_PY) -m benchmarks $(ARGS)

bench-gateway: $(DEV)/.stamp ## measure the gateway beside a bare pass-through
	@$(DEV_PY) -m benchmarks.gateway $(ARGS)

campaign-gateway: $(DEV)/.stamp ## 200 conversations through the gateway, killed every few seconds
	@$(DEV_PY) -m benchmarks.gateway --campaign 200 --requests 100 --kill-seconds 3

campaign-providers: $(DEV)/.stamp ## 10 000 generated sessions against the rules of four providers
	@$(DEV_PY) -m benchmarks.providers --sessions 10000

docs: $(DOCS)/.stamp ## build the documentation into build/site
	@NO_MKDOCS_2_WARNING=1 $(DOCS_PY) -m mkdocs build --strict --site-dir build/site $(if $(QUIET),--quiet,)

clean: ## remove all that these targets have made
	rm -rf .venv build dist .coverage .coverage.* .hypothesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	find src tests benchmarks examples -name __pycache__ -type d -prune -exec rm -rf {} + 2>/dev/null || true

$(KIMI)/.stamp:
	@$(if $(QUIET),:,echo 'making $(@D) (kimi-cli $(KIMI_VERSION))')
	@$(KIMI_PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip install --quiet --quiet --disable-pip-version-check 'kimi-cli==$(KIMI_VERSION)'
	@touch $@

# An environment is older than its stamp only while neither of the two files
# that say what is in it has changed; then it is brought up to date in place.
.venv/%-$(PYTHON_VERSION)/.stamp: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
	  echo 'make: $(PYTHON) cannot make virtual environments: it has no venv or ensurepip.' >&2; \
	  echo 'make: On Debian and Ubuntu: apt install python3-venv (or python$(PYTHON_VERSION)-venv)' >&2; \
	  exit 1; }
	@$(if $(QUIET),:,echo 'making $(@D) ($(packages_$*))')
	@test -x $(@D)/bin/python || $(PYTHON) -m venv --clear $(@D)
	@$(@D)/bin/python -m pip install --quiet --quiet --disable-pip-version-check -c constraints.txt -e '$(packages_$*)'
	@touch $@
