# Every target does its own set-up: a virtual environment in .venv, once, and again only when
# pyproject.toml or constraints.txt change. Everything else is `hark` and pytest.
PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
# The tests start hundreds of processes, so the modules are compiled once even where the environment forbids bytecode.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: demo test quick test-gpu browser office check bench docs format clean

demo: $(INSTALLED)
	@HARK=$(BIN)/hark examples/demo.sh

# What to run after an edit, in about a minute on two cores: all but the tests that start processes, browsers or kernels.
quick: $(INSTALLED)
	$(BIN)/python -m pytest -n auto -m "not slow" --hypothesis-profile=quick

test: $(INSTALLED) browser office
	$(BIN)/python -m pytest -n auto

# On a machine with a GPU: CUDA graphs and compiled kernels, which `make test` cannot see.
test-gpu: $(INSTALLED)
	@# Four threads: with 16, beside other programs, the CPU's side of the first test took more than seven minutes.
	TRITON_INTERPRET=0 OMP_NUM_THREADS=4 $(BIN)/python -m pytest tests/gpu

# Programs that some tests need: installed where they are missing and that is possible, else those tests are skipped.
# $(1): the names of the program, $(2): its packages, $(3): what is tested with it, $(4): other packages that will do.
define PROVIDE
@for name in $(1); do command -v $$name >/dev/null && exit 0; done; \
if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
  echo "Installing $(firstword $(1)), for tests of $(3) ..."; \
  export DEBIAN_FRONTEND=noninteractive; \
  for packages in "$(2)" "$(4)"; do \
    [ -n "$$packages" ] && { apt-get -qq update && apt-get -qq --yes --no-install-recommends install $$packages; } >/dev/null && exit 0; \
  done; \
fi; \
echo "There is no $(firstword $(1)) here, and it could not be installed: tests of $(3) are skipped."
endef

browser:
	$(call PROVIDE,chromium-headless-shell chromium chromium-browser google-chrome google-chrome-stable,chromium-headless-shell,pages in a browser,chromium)

office:
	$(call PROVIDE,soffice libreoffice,libreoffice-writer-nogui libreoffice-calc-nogui libreoffice-impress-nogui,documents in LibreOffice)

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(INSTALLED)
	$(BIN)/python -m benchmarks.start
	$(BIN)/python -m benchmarks.everyday en-de
	$(BIN)/python -m benchmarks.everyday de-en

# The pages in docs/ as a site that opens from the disk: site/index.html.
docs: $(INSTALLED)
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "Built site/index.html"

format: $(INSTALLED)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf .venv site .mypy_cache .ruff_cache .pytest_cache .hypothesis

$(INSTALLED): pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; v = sys.version_info[:2]; sys.exit(0 if (3, 11) <= v < (3, 14) else "hark needs Python 3.11 to 3.13; this is %d.%d. Try: make PYTHON=python3.11" % v)'
	@echo "Setting up .venv (once, for a minute or more: PyTorch is the large part) ..."
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[train,dev]'
	@touch $@
