# A short front for CMake. `make` builds build/tlnmf and the library; ./run WORD installs what is
# missing first and then calls make with the same word.
BUILD ?= build
CMAKE_FLAGS ?=
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
MAKEFLAGS += --no-print-directory

.PHONY: all configure test gpu-test gpu-bench gpu-carry torture demo bench install python \
        wheel-test octave lint format clean

all: configure
	@cmake --build $(BUILD) -j $(JOBS)

# Configures a new build folder, or one whose flags are given again. CMake writes
# cmake_install.cmake last, after a configuration that succeeded.
configure:
	@[ -f $(BUILD)/cmake_install.cmake ] && [ -z "$(CMAKE_FLAGS)" ] || \
	    cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(CMAKE_FLAGS)

# Tests share the cores: threads that wait must not keep one busy.
test: all
	@OMP_WAIT_POLICY=passive ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

# What needs a GPU: all of it in one command each. Their tables are in docs/measurements/gpu.md.
gpu-test: all
	@tests/gpu.sh test $(BUILD)

gpu-bench: all
	@tests/gpu.sh bench $(BUILD)

# A folder for a machine that has a GPU and no compilers.
gpu-carry: all
	@tests/gpu.sh carry $(BUILD) $(BUILD)/gpu-carry

# The long tests, or some of them with counts: make torture WORDS="kills=20 limits=200".
torture: all
	@tests/torture.sh $(BUILD) $(WORDS)

# The program alone: the tests would take longer to build than the demo takes.
demo: configure
	@cmake --build $(BUILD) -j $(JOBS) --target tlnmf
	@examples/demo.sh $(BUILD)/tlnmf

bench: all
	@bench/run.sh $(BUILD) --json $(BUILD)/bench.json $(if $(QUICK),--quick) $(if $(FULL),--full)

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

# The package for this user, or for the active virtual environment. Debian's Python unless told.
PYTHON ?= $(firstword $(wildcard $(if $(VIRTUAL_ENV),$(VIRTUAL_ENV)/bin/python) /usr/bin/python3) python3)
python: all
	@TLNMF_BUILD=$(abspath $(BUILD)) $(PYTHON) python/backend.py install

# A wheel with all its libraries, tested in a bare Debian: make wheel-test ROOT=DIR, as root.
# tests/python/clean.sh tells how to make DIR.
wheel-test: all
	@[ -n "$(ROOT)" ] || { echo "ROOT=DIR is needed: a folder of debootstrap" >&2; exit 2; }
	@tests/python/clean.sh $(BUILD) $(ROOT)

# BUILD/octave: the functions and the MEX file, to be added to Octave's path.
octave: all
	@mkdir -p $(BUILD)/octave && cp octave/*.m $(BUILD)/octave
	@cd $(BUILD)/octave && CFLAGS=-O2 mkoctfile --mex -I"$(CURDIR)/include" "$(CURDIR)/octave/tlnmf_mex.c" \
	    -L.. -ltlnmf "-Wl,-rpath,$(abspath $(BUILD))" -o tlnmf_mex.mex
	@echo "addpath (\"$(abspath $(BUILD))/octave\") makes tlnmf_fit, tlnmf_jd and tlnmf_apply known"

lint:
	@tests/lint.sh

format:
	@clang-format -i $$(git ls-files '*.c' '*.h')

clean:
	@rm -rf $(BUILD)
