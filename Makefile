# A front end for CMake. `make` builds build/tlnmf and the library; `./run WORD` installs missing
# packages and then calls make with the same word.
BUILD ?= build
CMAKE_FLAGS ?=
ENGINES ?=
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
MAKEFLAGS += --no-print-directory

.PHONY: all configure test gpu-test gpu-bench gpu-carry torture demo bench install python \
        wheel-test deb deb-test dist octave docs lint format clean

all: configure
	@cmake --build $(BUILD) -j $(JOBS)

# Configures the build folder if it is new, if CMAKE_FLAGS are given, or if it lacks ENGINES. CMake writes
# cmake_install.cmake last, after a successful configuration.
configure:
	@[ -f $(BUILD)/cmake_install.cmake ] && [ -z "$(CMAKE_FLAGS)" ] && \
	    set=$$(sed -n 's/^\(TLNMF_[A-Z]*\):[A-Z]*=/-D\1=/p' $(BUILD)/CMakeCache.txt) && \
	    [ -z "$$(for flag in $(ENGINES); do echo "$$set" | grep -qx -e "$$flag" || echo $$flag; done)" ] || \
	    cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(ENGINES) $(CMAKE_FLAGS)

# The GPU engine and tlnmf-mpi are off by default. Tests include them where nvcc and MPI are found.
test torture bench: ENGINES = -DTLNMF_CUDA=AUTO -DTLNMF_MPI=AUTO
gpu-test gpu-bench gpu-carry: ENGINES = -DTLNMF_CUDA=ON

# Tests run concurrently: waiting threads must not occupy a core.
test: all
	@OMP_WAIT_POLICY=passive ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

# All tests and benchmarks that need a GPU. Results are in docs/measurements/gpu.md.
gpu-test: all
	@tests/gpu.sh test $(BUILD)

gpu-bench: all
	@tests/gpu.sh bench $(BUILD)

# Creates a folder to copy to a computer that has a GPU and no compilers.
gpu-carry: all
	@tests/gpu.sh carry $(BUILD) $(BUILD)/gpu-carry

# The long tests, or some of them with counts: make torture WORDS="kills=20 limits=200".
torture: all
	@tests/torture.sh $(BUILD) $(WORDS)

# Builds only the program: building the tests would take longer than the demo.
demo: configure
	@cmake --build $(BUILD) -j $(JOBS) --target tlnmf
	@examples/demo.sh $(BUILD)/tlnmf

bench: all
	@bench/run.sh $(BUILD) --json $(BUILD)/bench.json $(if $(QUICK),--quick) $(if $(FULL),--full)

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

# Installs the package for this user, or in the active virtual environment. The default is Debian's
# Python.
PYTHON ?= $(firstword $(wildcard $(if $(VIRTUAL_ENV),$(VIRTUAL_ENV)/bin/python) /usr/bin/python3) python3)
python: configure
	@cmake --build $(BUILD) -j $(JOBS) --target tlnmf_shared tlnmf_io_shared
	@TLNMF_BUILD=$(abspath $(BUILD)) $(PYTHON) python/backend.py install

# Tests a wheel that bundles all libraries in a minimal Debian: make wheel-test ROOT=DIR, as root.
# tests/python/clean.sh explains how to create DIR.
wheel-test: all
	@[ -n "$(ROOT)" ] || { echo "ROOT=DIR is required: a folder created by debootstrap" >&2; exit 2; }
	@tests/python/clean.sh $(BUILD) $(ROOT)

# The source archive and the Debian packages, in BUILD/dist and BUILD/deb. `make deb` builds from the source
# archive in a temporary folder. DEB_BUILD_OPTIONS=nocheck omits the tests.
dist:
	@packaging/dist.sh $(BUILD)/dist

deb:
	@packaging/deb.sh $(BUILD)/deb

# Installs, uses and purges the packages in a minimal Debian: make deb-test ROOT=DIR, as root.
deb-test:
	@[ -n "$(ROOT)" ] || { echo "ROOT=DIR is required: a folder created by debootstrap" >&2; exit 2; }
	@tests/packages/deb.sh $(BUILD)/deb $(ROOT)

# BUILD/octave has the functions and the MEX file; add it to Octave's path.
octave: all
	@mkdir -p $(BUILD)/octave && cp octave/*.m $(BUILD)/octave
	@cd $(BUILD)/octave && CFLAGS=-O2 mkoctfile --mex -I"$(CURDIR)/include" "$(CURDIR)/octave/tlnmf_mex.c" \
	    -L.. -ltlnmf "-Wl,-rpath,$(abspath $(BUILD))" -o tlnmf_mex.mex
	@echo "in Octave, addpath (\"$(abspath $(BUILD))/octave\") provides tlnmf_fit, tlnmf_jd and tlnmf_apply"

# Builds the documentation: BUILD/site/index.html. It first runs the code blocks of all pages and compares
# their outputs, unless BLOCKS=no is given; the tests docs-* do the same.
docs: configure
	@cmake --build $(BUILD) -j $(JOBS) --target tlnmf tlnmf_shared tlnmf_io_shared
	@[ "$(BLOCKS)" = no ] || $(PYTHON) docs/site/blocks.py $(BUILD)
	@$(PYTHON) docs/site/site.py $(BUILD)

lint:
	@tests/lint.sh

format:
	@clang-format -i $$(git ls-files '*.c' '*.h')

clean:
	@rm -rf $(BUILD)
