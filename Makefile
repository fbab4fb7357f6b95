# Baton. `make run` starts the local cloud, `make check` is the daily loop, `make test` checks a commit, `make all`
# everything; all set themselves up.
SHELL := /bin/bash
.DEFAULT_GOAL := help

STAGE ?= dev
TESTS ?=
BUILT ?=

# Python only makes the environments; uv does the rest: one on PATH that is new enough, or a private copy.
PYTHON ?= $(firstword $(foreach name,python3 python3.14 python3.13 python3.12 python3.11,\
	$(shell $(name) -c 'import sys; sys.version_info >= (3, 11) and print("$(name)")' 2>/dev/null)))
UV_VERSION := 0.13.9
PRIVATE_UV := $(CURDIR)/.baton/tools/bin/uv
UV := $(or $(UV),$(shell uv --version 2>/dev/null | awk '{ split($$2, v, "."); if (v[1] > 0 || v[2] >= 9) print "uv" }'),$(PRIVATE_UV))

BIN := .venv/bin
export UV
export SAM_CLI_TELEMETRY := 0
# With it set, each process of a test run compiles all tests and all of Baton again.
unexport PYTHONDONTWRITEBYTECODE
# Only package registries are needed: a missing Python is reported, not fetched from elsewhere.
export UV_PYTHON_DOWNLOADS ?= never

.PHONY: help setup web wheels new distributions release run check test all lint types depth faults properties models mutations grants unit integration e2e browser infrastructure build validate client docs format clean account preflight deploy publish settings smoke search restore teardown

help: ## Show this list. STAGE is dev unless it is given
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(filter $(PRIVATE_UV),$(UV)) ## Make the environment (.venv), or bring it up to date
	@[ -d .venv ] || { $(need-python); $(UV) venv --quiet --python $(PYTHON); }
	@$(UV) sync --locked --quiet

web: setup ## Build what browsers load (clients/web), if it has changed
	@$(BIN)/python -m baton_local.web

wheels: web ## Build the three distributions of projects, server, client and reader of documents, into dist/
	@echo "Building three distributions into dist/"
	@$(UV) build --quiet --wheel --out-dir dist .
	@$(UV) build --quiet --wheel --out-dir dist clients/python
	@$(UV) build --quiet --wheel --out-dir dist extraction
	@echo "The wheels are in dist/. For other projects: export UV_FIND_LINKS=$(CURDIR)/dist PIP_FIND_LINKS=$(CURDIR)/dist"

new: wheels ## Make a project of your own with this clone: make new PROJECT=../my-assistant (ARGS=--python: agents in Python)
	@test -n "$(PROJECT)" || { echo "Name the new folder: make new PROJECT=../my-assistant" >&2; exit 1; }
	@echo "Making $(PROJECT)"
	@$(BIN)/baton new "$(PROJECT)" --wheels dist $(ARGS) >/dev/null
	@echo "Installing its environment, about 320 MB"
	@$(UV) sync --quiet --project "$(PROJECT)"
	@printf '%s\n' "Next:" "" "  cd $(PROJECT) && source .venv/bin/activate" "  baton dev"

distributions: web ## Build what a release publishes: wheels and sources of the four distributions, into dist/
	@rm -rf dist
	@for folder in . clients/python extraction channels/slack; do $(UV) build --quiet --out-dir dist $$folder || exit 1; done
	@ls -1 dist

release: distributions ## Check and pack a release into dist/: make release [TAG=v0.1.0]; without TAG, a trial
	@$(if $(TAG),$(BIN)/python .ci/release.py check $(TAG),echo "No TAG: a trial, which checks no version.")
	@$(BIN)/python .ci/release.py pack

run: setup web $(if $(BUILT),build) ## Start the local cloud (PORT, ENGINES, OPENAI_BASE_URL, ... are passed on; BUILT=1 runs what is deployed)
	@$(if $(BUILT),BATON_LOCAL_BUILT=.aws-sam/build )exec $(BIN)/python -m baton_local

check: setup ## Lint, types and unit tests: the daily loop, three and a half minutes on two cores
	@failed=(); $(begin-checks); \
	echo "== unit tests"; \
	$(BIN)/pytest --instafail tests/unit tests/extraction -n 4 $(TESTS) || failed+=("unit tests"); \
	$(end-checks); $(sum-up)

# There are more processes than cores, because tests often wait. tests/distribution.py spreads the tests over them.
test: setup ## Check a commit: lint, types, all tests but those that `make all` runs; ten minutes at most on two cores
	@failed=(); $(begin-checks); \
	echo "== tests"; \
	if [ -n "$(TESTS)" ]; then \
		$(BIN)/pytest --instafail $(TESTS) || failed+=(tests); \
		echo "Calls are not judged by the roles: that takes a run without TESTS."; \
	else \
		export BATON_LOCAL_RECORDINGS=$$(mktemp -d); \
		$(BIN)/pytest --instafail -n 4 --ignore tests/grants/test_grants.py || $(repeat-failed) || failed+=(tests); \
		$(MAKE) --no-print-directory grants RECORDINGS=$$BATON_LOCAL_RECORDINGS || failed+=(grants); \
		rm -r $$BATON_LOCAL_RECORDINGS; \
	fi; \
	$(end-checks); $(sum-up)

all: export BATON_TESTS := all
all: export BATON_CHECK_UNCHANGED := 1
all: setup ## Check everything, each night and before a release: every test, every endpoint of models, many generated cases
	@$(MAKE) --no-print-directory --keep-going TESTS= test faults properties

lint: setup ## Style, formatting and the import rules
	@echo "== lint"
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/lint-imports
	@$(BIN)/python -m tests.prose
	@$(BIN)/python -m tests.unchanged clients/web -- $(BIN)/python -m baton_local.web lint

types: setup ## Types, strictly
	@echo "== types"
	@$(BIN)/mypy --num-workers auto || $(BIN)/mypy  # its workers give up on a machine that is very busy
	@$(BIN)/python -m tests.unchanged clients/web -- $(BIN)/python -m baton_local.web types

depth: setup ## Count the calls from the worker's handler to the model, and the generators from its stream to the outbox
	@$(BIN)/python -m benchmarks.call_depth

# Each of these runs all of its tests, also those that `make test` leaves to `make all`.
faults properties models unit integration e2e browser infrastructure: export BATON_TESTS := all

faults: setup ## Kill, lose, repeat and fail at every stage; with many times the cases that `make test` generates
	@BATON_FAULT_CASES=$${BATON_FAULT_CASES:-1500} $(BIN)/pytest tests/faults -n 2 $(TESTS)

properties: setup ## Rules as properties, with many times the examples that `make test` generates
	@BATON_EXAMPLES=$${BATON_EXAMPLES:-400} $(BIN)/pytest tests/unit tests/extraction tests/e2e/test_fuzz.py -m hypothesis -n 2 $(TESTS)

models: setup ## Tests of model adapters with every endpoint; `make test` tries a part of the pairs
	@$(BIN)/pytest tests/models -n 2 $(TESTS)

mutations: setup ## Inject faults one at a time, each of which a test must find
	@$(BIN)/python -m tests.mutations

grants: ## Judge recorded calls by the roles, and after `make all` the roles by the calls: make grants RECORDINGS=folder
	@echo "== grants"
	@test -n "$(RECORDINGS)" || { echo "RECORDINGS is not set: \`make test\` records calls and judges them." >&2; exit 1; }
	@BATON_TESTS=$${BATON_TESTS:-usual} BATON_LOCAL_RECORDINGS="$(RECORDINGS)" $(BIN)/pytest tests/grants/test_grants.py

unit integration e2e browser infrastructure: setup
	@$(BIN)/pytest tests/$@ $(TESTS)

unit: ## Tests of rules and single parts
integration: ## Tests of adapters against real engines
e2e: ## Tests over real sockets through the local cloud
browser: ## Tests of the widget, the console and the demo page in a browser
infrastructure: ## Tests of the template and of what `sam build` packs

build: setup ## Pack functions and layers (no Docker)
	@$(BIN)/sam build

validate: setup ## Let SAM and cfn-lint check the template
	@$(BIN)/sam validate --lint --region $(or $(AWS_REGION),us-east-1)

client: setup ## Write what is generated of the Python client: models, classes of errors, its synchronous half
	@cd clients/python && $(CURDIR)/$(BIN)/python -m generation

docs: export NO_MKDOCS_2_WARNING := 1
docs: setup ## Make a site of docs/ with a search (.baton/site)
	@$(BIN)/python -m mkdocs build --quiet --config-file docs/site/mkdocs.yml
	@echo "The site is in .baton/site. To read it: python3 -m http.server --directory .baton/site 8000"

format: setup ## Format the code and mend what ruff can
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

# Operation: `make COMMAND STAGE=dev ARGS="..."` is `baton COMMAND dev ...`, as projects run it. The region is AWS_REGION or
# AWS_DEFAULT_REGION of the environment, or the profile's.
account: setup ## Once in an account and region: the role by which API Gateway writes access logs (ARGS=--yes)
	@$(BIN)/baton deploy --account $(ARGS)

preflight: setup ## Check what a deployment needs: make preflight STAGE=dev|prod (ARGS="--model --unchecked")
	@$(BIN)/baton deploy $(STAGE) --check $(ARGS)

deploy: setup web ## Check, build, deploy to AWS, publish and try: make deploy STAGE=dev|prod (ARGS="--yes --unchecked")
settings: setup ## Check settings.STAGE.yaml, show how it differs from the deployed settings, store it (ARGS=--check, --show, --yes)
publish: setup ## Put the chat widget and the console where a deployed stage serves them: make publish STAGE=dev|prod
smoke: setup ## Try a deployed stage as a user: make smoke STAGE=dev|prod (TOKEN=..., ARGS="--url https://... --document")
search: setup ## Administer its search: make search STAGE=dev ARGS="migrate|reindex|rebuild|move|verify|repair --tenant acme"
restore: setup ## Copy lost data back: make restore STAGE=dev ARGS="--at 2026-11-26T09:30:00Z --tenant acme --plan"
teardown: setup ## Show what there is of a stage, and delete what is named: make teardown STAGE=dev ARGS="stack table bucket"
deploy settings publish smoke search restore teardown:
	@$(BIN)/baton $@ $(STAGE) $(ARGS)

clean: ## Remove what builds and tests leave behind; the environment stays
	@rm -rf .aws-sam .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	@find . -name __pycache__ -type d -not -path './.venv/*' -not -path './.baton/*' -prune -exec rm -rf {} +

# Lint and types need seconds when tests wait, so they run meanwhile; their output comes in one piece when they end.
define begin-checks
{ said=$$($(MAKE) --no-print-directory --keep-going lint types 2>&1); code=$$?; echo; echo "$$said"; exit $$code; } & \
checks=$$!; trap 'kill $$checks 2>/dev/null' EXIT
endef

define end-checks
wait $$checks || failed+=("lint or types")
endef

# Nightly, a test that needs a second run is a failure.
repeat-failed = { [ "$(BATON_TESTS)" != all ] && $(BIN)/python -m tests.repeats; }

define sum-up
echo "== summary"; \
if [ $${#failed[@]} -gt 0 ]; then echo "FAILED: $${failed[*]}"; exit 1; fi; \
echo "lint, types and tests passed"
endef

define need-python
[ -n "$(PYTHON)" ] || { echo "Baton needs Python 3.11 or newer, and none is on PATH (or set PYTHON=/path/to/python)." >&2; exit 1; }
endef

$(PRIVATE_UV):
	@$(need-python)
	@$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || { \
		echo "$(PYTHON) cannot make environments here: its venv or ensurepip module is missing." >&2; \
		echo "On Debian and Ubuntu: sudo apt-get install python3-venv. Or put uv >= 0.9 on PATH." >&2; exit 1; }
	@echo "Installing uv $(UV_VERSION) into .baton/tools"
	@$(PYTHON) -m venv --clear $(CURDIR)/.baton/tools
	@$(CURDIR)/.baton/tools/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
