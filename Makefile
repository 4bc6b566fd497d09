# Everything starts from a fresh clone: git, make and python3 (3.11 or later, with pip and venv) are enough.
# `make help` lists what there is.

PYTHON ?= python3
JOBS ?=                 # processes over which the tests are spread: 4 for `make test`, where many wait, and 2 for `make quick`
PYTEST_ARGS ?=
TYPESCRIPT := 5.9.3
AXE := 4.14.0
BIOME := 2.6.7
CONFORMANCE := 0.2.0-alpha.12
PYRIGHT := 1.1.414
NODE := 22.23.3         # for the conformance suite alone, which needs 22

VENV := .venv
BIN := $(VENV)/bin
TELEX := $(BIN)/telex
READY := $(VENV)/ready
TSC_READY := .cache/node/typescript-$(TYPESCRIPT)
AXE_READY := .cache/axe/axe-$(AXE)
BIOME_READY := .cache/biome/biome-$(BIOME)
CONFORMANCE_READY := .cache/conformance/conformance-$(CONFORMANCE)
COMPILED := $(VENV)/compiled
EXAMPLES := .cache/examples
EXAMPLES_READY := $(EXAMPLES)/ready
SNIPPETS := $(EXAMPLES)/snippets
PYRIGHT_READY := .cache/pyright/pyright-$(PYRIGHT)

biome = .cache/biome/node_modules/.bin/biome
tsc = .cache/node/node_modules/.bin/tsc
pytest = $(BIN)/python -m pytest $(if $(strip $(JOBS)),-n $(strip $(JOBS)) --dist worksteal) $(PYTEST_ARGS)
install = { [ "$$(id -u)" = 0 ] && { apt-get install -qq -y $(1) || { apt-get update -qq && apt-get install -qq -y $(1); }; } >/dev/null 2>&1; }
part = @printf '\n== %s\n' '$(1)'

export PIP_DISABLE_PIP_VERSION_CHECK := 1
unexport PYTHONDONTWRITEBYTECODE  # or each of the thousand processes that tests start would compile all of Telex anew

.DEFAULT_GOAL := help
.PHONY: help run cluster test alone quick long load torture conformance bench examples dist lock format clean checks javascript typescript strace chromium nginx axe clients

help: ## list these commands
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1|\2/p' $(MAKEFILE_LIST) | awk -F'|' '{ printf "%-18s %s\n", $$1, $$2 }'

# PORT=8080 takes another port than 4477; OPEN=1 opens the page in a browser.
run: $(READY) ## start a hub with its page and a demo team; prints the address
	@$(TELEX) serve --demo $(if $(PORT),--port $(PORT)) $(if $(OPEN),--open)

# PORT=8080 and NATS_PORT=5222 take other ports than 4477 and 4222.
cluster: $(READY) ## three NATS servers, two hubs that share a team, and two agents; prints the addresses
	@$(BIN)/python docs/examples/cluster/run.py $(if $(PORT),--port $(PORT)) $(if $(NATS_PORT),--nats-port $(NATS_PORT))

test: JOBS := $(or $(strip $(JOBS)),4)
test: $(READY) ## format, lint, types and every test
	@$(MAKE) --no-print-directory -j checks $(COMPILED) javascript typescript strace chromium nginx axe
	$(call part,tests)
	@TELEX_PROFILE=test $(pytest) || { [ $$? = 1 ] && $(MAKE) --no-print-directory alone; }

# A test of processes and real seconds may fail among four of its kind on two cores. Up to three that failed run once more
# with nothing beside them; both runs are in the output.
alone: FAILED = $$(grep -c '": true' .pytest_cache/v/cache/lastfailed)
alone:
	$(call part,tests that failed once more and alone)
	@[ "$(FAILED)" -le 3 ] || { printf '%s tests failed: too many to be chance\n' "$(FAILED)"; exit 1; }
	@TELEX_PROFILE=test $(BIN)/python -m pytest -q --last-failed --last-failed-no-failures none
	@printf 'FLAKY: these tests passed alone and failed among others: fix them\n'

quick: JOBS := $(or $(strip $(JOBS)),2)
quick: checks javascript ## the same without the slow tests, in a minute and a half
	$(call part,tests that are not slow)
	@TELEX_PROFILE=quick $(pytest) -m "not slow"

long: $(READY) typescript ## the tests with 20,000 examples for each property
	$(call part,tests with 20000 examples for each property)
	@TELEX_PROFILE=long $(pytest) --timeout=0

load: $(READY) ## a hub with a thousand waiting agents and a hundred viewers, once in peace and once killed in the middle
	@$(BIN)/python -m tests.load.hub_load --agents 1000 --viewers 100 --rate 200 --seconds 60
	@$(BIN)/python -m tests.load.hub_load --agents 1000 --viewers 100 --rate 200 --seconds 60 --kill-at 30

# SEED=41 replays that one simulated team, on both stores and exactly as it was, and does nothing else.
torture: $(READY) $(if $(SEED),,strace) ## the long crash and chaos runs, forty minutes; SEED=41 replays one team
ifdef SEED
	@$(BIN)/python -m telex.testing.simulator --seeds $(SEED) --store memory
	@$(BIN)/python -m telex.testing.simulator --seeds $(SEED) --store sqlite
else
	@printf '\nThis takes about forty minutes: teams in memory 11, teams on a file 3, power cuts 1, kills 6, hubs and servers 18.\n'
	$(call part,20000 simulated teams in memory)
	@$(BIN)/python -m telex.testing.simulator --seeds 0:20000 --store memory
	$(call part,2000 simulated teams of two processes on one file)
	@$(BIN)/python -m telex.testing.simulator --seeds 0:2000 --store sqlite
	$(call part,1000 power cuts)
	@$(BIN)/python -m tests.crash.power --points 1000
	$(call part,60 power cuts of three NATS servers and their hubs and 500 of a hub)
	@$(BIN)/python -m tests.nats.power --cuts 60 --hub-cuts 500
	$(call part,2000 times kill -9)
	@$(BIN)/python -m tests.crash.kills --kills 2000
	$(call part,500 times kill -9 while the rules of the work are at stake)
	@$(BIN)/python -m tests.crash.work_kills --kills 500
	$(call part,200 faults of three hubs and three NATS servers)
	@$(BIN)/python -m tests.nats.faults --incidents 200
endif

conformance: $(READY) $(CONFORMANCE_READY) ## the official MCP conformance suite against a hub
	$(call part,MCP conformance)
	@$(pytest) -q tests/mcp/test_mcp_conformance.py

# Six coding tools from npm, 1.7 GB in CLIENTS; NEWEST=1 takes the newest versions. LAB_ARGS="--client codex --keep": one.
CLIENTS ?= .cache/clients
LAB := $(BIN)/python -m tests.clients.lab

clients: $(READY) ## real coding tools with a scripted model: what works, in docs/clients; needs npm and tmux
	@command -v tmux >/dev/null || { [ "$$(id -u)" = 0 ] && apt-get install -qq -y tmux >/dev/null 2>&1; } || \
		{ printf 'tmux is missing\n'; exit 1; }
	$(call part,coding tools)
	@$(LAB) --programs $(CLIENTS) $(if $(NEWEST),--newest) $(or $(LAB_ARGS),--page docs/clients/README.md)
ifndef LAB_ARGS
	$(call part,two coding tools in a conversation)
	@$(LAB).conversation --programs $(CLIENTS) --page docs/clients/two-agents.md
	$(call part,cost of hooks)
	@$(LAB).turn_cost --programs $(CLIENTS) --page docs/clients/README.md
endif

bench: $(READY) ## measure Telex beside its floors and peers
	@$(BIN)/python -m bench.peers
	@$(BIN)/python -m bench

# Frameworks are installed into an environment of their own: no test and no user of Telex needs them.
examples: $(EXAMPLES_READY) $(PYRIGHT_READY) ## types and tests of the examples, each with its framework's stub model
	$(call part,types of the examples and of the Python in the documentation)
	@$(EXAMPLES)/bin/python examples/snippets.py $(SNIPPETS)
	@cd examples && ../$(EXAMPLES)/bin/mypy
	@test ! -e $(PYRIGHT_READY) || .cache/pyright/node_modules/.bin/pyright -p examples --pythonpath $(EXAMPLES)/bin/python
	$(call part,examples)
	@cd examples && ../$(EXAMPLES)/bin/python -m pytest -q $(PYTEST_ARGS)

dist: $(READY) ## build the sdist and the wheel, install the wheel in an empty environment and send a message with it
	@$(BIN)/python -m tests.dist

format: $(READY) $(BIOME_READY) ## put the code in shape
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix
	@! [ -e $(BIOME_READY) ] || $(biome) check --write --error-on-warnings

# biome.json says how it is formatted and which rules it follows; types of what it imports are in javascript/.
javascript: $(BIOME_READY) $(TSC_READY) ## format, lint and types of the page's JavaScript; FILES=… looks at these alone
	$(call part,JavaScript of the page)
	@! [ -e $(BIOME_READY) ] || $(biome) check --error-on-warnings $(FILES)
	@$(if $(FILES),,! [ -e $(TSC_READY) ] || $(tsc) -p javascript/tsconfig.json)

checks: $(READY)
	$(call part,format)
	@$(BIN)/ruff format --check
	$(call part,lint)
	@$(BIN)/ruff check
	$(call part,types)
	@$(BIN)/mypy

# The lock names versions and hashes of files as the public registry has them, for every platform, and no address.
# Pins that still fit are kept; `make lock UPGRADE=1` takes the newest of everything.
lock = .cache/lock/bin/uv pip compile --universal --python-version 3.11 --generate-hashes --no-header \
	--no-emit-index-url --no-config --quiet $(if $(UPGRADE),--upgrade)

lock: ## pin the dependencies of pyproject.toml in requirements.lock, the bench's peers and what the examples need
	@$(PYTHON) -m venv .cache/lock
	@.cache/lock/bin/pip install -qq uv
	@$(lock) pyproject.toml --group dev --all-extras --output-file requirements.lock
	@$(lock) bench/requirements.in --output-file bench/requirements.txt
	@$(lock) pyproject.toml examples/requirements.in --constraint requirements.lock --constraint bench/requirements.txt \
		--no-annotate --output-file examples/requirements.txt

clean: ## remove everything that make has made
	@rm -rf $(VENV) .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache .import_linter_cache build dist
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +

# Nothing outside the lock is fetched: what builds the editable install is in the lock too.
$(READY): pyproject.toml requirements.lock
	$(call part,setting up $(VENV))
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Telex needs Python 3.11 or later; say which: make PYTHON=python3.11 …")'
	@$(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install -qq --no-compile --require-hashes -r requirements.lock
	@$(BIN)/python -m pip install -qq --no-deps --no-build-isolation -e .
	@touch $@

$(EXAMPLES_READY): pyproject.toml examples/requirements.txt
	$(call part,setting up $(EXAMPLES))
	@$(PYTHON) -m venv $(EXAMPLES)
	@$(EXAMPLES)/bin/python -m pip install -qq --no-compile --require-hashes -r examples/requirements.txt
	@$(EXAMPLES)/bin/python -m pip install -qq --no-deps --no-build-isolation -e .
	@touch $@

$(PYRIGHT_READY):
	@if command -v npm >/dev/null && \
		npm install --prefix .cache/pyright --no-save --no-package-lock --no-audit --no-fund --silent pyright@$(PYRIGHT); then \
		touch $@; \
	else \
		printf '\n!! npm could not install pyright: the examples will NOT be checked by it\n'; \
	fi

# Compile the tests once, while mypy runs, instead of in each test process. Errors show up when the tests run.
$(COMPILED): $(READY)
	@$(BIN)/python -m pytest --collect-only -qq >/dev/null 2>&1; touch $@

# strace is needed to simulate power cuts. Without it those tests are skipped, with a warning here and by pytest.
strace:
	@command -v strace >/dev/null || $(call install,strace) || \
		printf '\n!! strace is missing: power cuts will NOT be simulated\n'

# The page is looked at in a real browser, and judged by axe-core for those who cannot see it or use no mouse.
chromium: | strace  # one after the other: two that install lock each other out
	@command -v chromium >/dev/null || command -v chromium-browser >/dev/null || \
		$(call install,chromium) || \
		printf '\n!! chromium is missing: the page will NOT be looked at in a browser\n'

# nginx is needed to test the hub behind a proxy, as docs/hub.md configures it.
nginx: | chromium
	@command -v nginx >/dev/null || [ -x /usr/sbin/nginx ] || $(call install,nginx-light openssl) || \
		printf '\n!! nginx is missing: the hub will NOT be tested behind a proxy\n'

axe: $(AXE_READY)

$(AXE_READY):
	@if command -v npm >/dev/null && \
		npm install --prefix .cache/axe --no-save --no-package-lock --no-audit --no-fund --silent axe-core@$(AXE); then \
		touch $@; \
	else \
		printf '\n!! npm could not install axe-core: the page will NOT be judged for accessibility\n'; \
	fi

$(BIOME_READY):
	@if command -v npm >/dev/null && \
		npm install --prefix .cache/biome --no-save --no-package-lock --no-audit --no-fund --silent @biomejs/biome@$(BIOME); then \
		touch $@; \
	else \
		printf '\n!! npm could not install biome: the JavaScript of the page will NOT be checked\n'; \
	fi

# 240 MB, so `make test` does not fetch it; it runs the suite where it is there.
$(CONFORMANCE_READY):
	@npm install --prefix .cache/conformance --no-save --no-package-lock --no-audit --no-fund --silent \
		@modelcontextprotocol/conformance@$(CONFORMANCE) node@$(strip $(NODE)) && touch $@ || \
		printf '\n!! npm could not install the MCP conformance suite: it will NOT be run\n'

# TypeScript comes from npm. Without it those tests are skipped, with a warning here and by pytest.
typescript: $(TSC_READY)

$(TSC_READY):
	@if ! command -v node >/dev/null || ! command -v npm >/dev/null; then \
		printf '\n!! node or npm is missing: the TypeScript types will NOT be compiled\n'; \
	elif npm install --prefix .cache/node --no-save --no-package-lock --no-audit --no-fund --silent typescript@$(TYPESCRIPT); then \
		touch $@; \
	else \
		printf '\n!! npm could not install typescript: the TypeScript types will NOT be compiled\n'; \
	fi
