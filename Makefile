# A short front for CMake. `make` builds build/tlnmf and the library; ./run WORD installs what is
# missing first and then calls make with the same word.
BUILD ?= build
CMAKE_FLAGS ?=
PREFIX ?= /usr/local
JOBS ?= $(shell nproc)
MAKEFLAGS += --no-print-directory

.PHONY: all test torture demo bench install lint format clean

all: $(BUILD)/cmake_install.cmake
	@cmake --build $(BUILD) -j $(JOBS)

# Written last, by a configuration that succeeded.
$(BUILD)/cmake_install.cmake:
	@cmake -S . -B $(BUILD) -DCMAKE_INSTALL_PREFIX=$(PREFIX) $(CMAKE_FLAGS)

test: all
	@ctest --test-dir $(BUILD) --output-on-failure -j $(JOBS)

torture: all
	@tests/torture.sh $(BUILD)

demo: all
	@examples/demo.sh $(BUILD)/tlnmf

bench: all
	@bench/run.sh $(BUILD) --json $(BUILD)/bench.json $(if $(QUICK),--quick) $(if $(FULL),--full)

install: all
	@cmake --install $(BUILD) --prefix $(PREFIX)

lint:
	@tests/lint.sh

format:
	@clang-format -i $$(git ls-files '*.c' '*.h')

clean:
	@rm -rf $(BUILD)
