# Holter: one non-recursive Makefile. `make help` lists the targets; all output is in build/<variant>.
BUILD ?= release
PREFIX ?= /usr/local
DESTDIR ?=
LIBDIR ?= $(PREFIX)/lib
ifeq ($(origin CC),default)
CC := gcc
endif
CXX_TARGETS ?= g++
CLANG ?= $(firstword $(shell command -v clang-14 clang 2>/dev/null) clang)
CLANG_FORMAT ?= $(firstword $(shell command -v clang-format-14 clang-format 2>/dev/null) clang-format-14)
CLANG_TIDY ?= $(firstword $(shell command -v clang-tidy-14 clang-tidy 2>/dev/null) clang-tidy-14)
PYTHON ?= /usr/bin/python3
VERSION := 0.1.0
SOVERSION := 0
JOBS ?= 2

ifeq ($(filter $(BUILD),release debug asan tsan cov),)
$(error BUILD=$(BUILD) is unknown; it is one of release debug asan tsan cov)
endif

O := build/$(BUILD)
WARN := -Wall -Wextra -Werror -Wshadow -Wundef -Wvla -Wmissing-prototypes -Wstrict-prototypes
BASE_CFLAGS := -std=gnu11 -g -I. -I$(O)/gen $(WARN) -fvisibility=hidden -fPIC -D_GNU_SOURCE
VERSION_CFLAGS := -DHOLTER_VERSION='"$(VERSION)"'
CFLAGS_release := -O2
CFLAGS_debug := -O0
# Instrumented code confuses gcc's own view of what is initialised.
CFLAGS_asan := -O1 -Wno-maybe-uninitialized -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
CFLAGS_tsan := -O1 -Wno-maybe-uninitialized -fsanitize=thread -fno-omit-frame-pointer
CFLAGS_cov := -O0 --coverage
ALL_CFLAGS := $(BASE_CFLAGS) $(VERSION_CFLAGS) $(CFLAGS_$(BUILD)) $(CFLAGS)
# The injected object keeps frame pointers, so that the stack walker starts from its own frame
# (recorder/capture/stackwalk.c); no stack protector, no PLT detours on the hot path.
SHIM_CFLAGS := -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-stack-protector \
	-fno-plt -ftls-model=initial-exec -fexceptions
# The reader library exports what begins with holter_ (the version script below hides the rest).
READER_CFLAGS := -fvisibility=default

RECORDER_SRC := $(wildcard recorder/base/*.c recorder/format/*.c recorder/sys/*.c \
	recorder/region/*.c recorder/capture/*.c recorder/dump/*.c recorder/engine/*.c)
PRELOAD_SRC := $(wildcard preload/*.c preload/*.S)
READER_ONLY_SRC := $(wildcard reader/*.c reader/analysis/*.c)
READER_SRC := $(READER_ONLY_SRC) $(wildcard recorder/base/*.c recorder/format/*.c)
TOOLS_SRC := $(wildcard tools/*.c)
UNIT_SRC := $(wildcard tests/unit/test_*.c)
FUZZ_SRC := $(wildcard tests/fuzz/fuzz_*.c)
BENCH_SRC := $(wildcard tests/bench/bench_*.c)

shim_obj := $(addprefix $(O)/shim/,$(addsuffix .o,$(basename $(RECORDER_SRC) $(PRELOAD_SRC))))
reader_obj := $(addprefix $(O)/obj/,$(addsuffix .o,$(basename $(READER_SRC))))
recorder_obj := $(addprefix $(O)/obj/,$(addsuffix .o,$(basename $(RECORDER_SRC))))
tools_obj := $(addprefix $(O)/obj/,$(addsuffix .o,$(basename $(TOOLS_SRC))))
unit_bin := $(patsubst tests/unit/%.c,$(O)/unit/%,$(UNIT_SRC))
bench_bin := $(patsubst tests/bench/%.c,$(O)/bench/%,$(BENCH_SRC))
fuzz_bin := $(patsubst tests/fuzz/%.c,$(O)/fuzz/%,$(FUZZ_SRC))
man_pages := $(wildcard tools/man/*.[1-8]) $(O)/man/holter-events.7 $(O)/man/holter-settings.7
PUBLIC_HEADERS := $(wildcard recorder/holter.h recorder/format/holter_error.h \
	reader/holter_*.h reader/analysis/holter_*.h)

# What the holter command and the unit tests need beside libc.
READER_LIBS := -llz4 -lz -ldw -lelf -liberty
TOOL_LIBS := $(READER_LIBS) -lsmartcols -lm -lpthread -ldl
# The allocator of the command (architecture 10); a sanitizer brings its own.
ALLOCATOR := $(if $(filter asan tsan,$(BUILD)),,-ljemalloc)
TEST_LIBS := -Wl,--start-group $(O)/libholter_recorder.a $(O)/libholter_reader.a \
	$(O)/libholter_tools.a -Wl,--end-group $(TOOL_LIBS) -lcheck -lsubunit -lm -lrt
# A sanitizer leaves its run-time's symbols to the program that loads the object.
Z_DEFS := $(if $(filter asan tsan,$(BUILD)),,-Wl,-z,defs)

.DEFAULT_GOAL := all
.DELETE_ON_ERROR:
.SECONDARY:
.PHONY: all clean help
all: $(O)/libholter.so $(O)/libholter_reader.a $(O)/libholter_reader.so $(O)/holter man ## build everything (BUILD=release|debug|asan|tsan|cov)

help: ## this list
	@echo 'make [BUILD=release|debug|asan|tsan|cov] [PREFIX=/usr/local] [DESTDIR=] TARGET'
	@grep -hE '^[a-z][a-z.-]*:.*##' $(firstword $(MAKEFILE_LIST)) | \
		sed -E 's/^([a-z.-]+):.*## */\1\t/' | awk -F'\t' '{ printf "  %-14s %s\n", $$1, $$2 }'

# --- objects -------------------------------------------------------------------------------------

# Changes only when the flags do, so that another CFLAGS= rebuilds and nothing else does.
$(O)/flags: FORCE
	@mkdir -p $(@D)
	@printf '%s\n' '$(CC) $(subst ','\'',$(ALL_CFLAGS)) $(SHIM_CFLAGS) $(READER_CFLAGS)' > $@.new
	@if cmp -s $@.new $@; then rm -f $@.new; else mv $@.new $@; fi
.PHONY: FORCE
FORCE:

$(O)/shim/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(SHIM_CFLAGS) -DHOLTER_SHIM=1 -MMD -MP -c -o $@ $<
$(O)/shim/%.o: %.S $(O)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
$(O)/obj/reader/%.o: reader/%.c $(O)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(READER_CFLAGS) -MMD -MP -c -o $@ $<
# Capture is compiled as in the injected object: the walker relies on those frames.
$(O)/obj/recorder/capture/%.o: recorder/capture/%.c $(O)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(SHIM_CFLAGS) -MMD -MP -c -o $@ $<
$(O)/obj/%.o: %.c $(O)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

# --- libraries and the command -------------------------------------------------------------------

$(O)/libholter_recorder.a: $(recorder_obj)
	@rm -f $@
	ar qcs $@ $^
$(O)/libholter_tools.a: $(filter-out $(O)/obj/tools/main.o,$(tools_obj))
	@rm -f $@
	ar qcs $@ $^
$(O)/libholter_reader.a: $(reader_obj)
	@rm -f $@
	ar qcs $@ $^
$(O)/gen/libholter_reader.map:
	@mkdir -p $(@D)
	@echo '{ global: holter_*; local: *; };' > $@
$(O)/libholter_reader.so: $(reader_obj) $(O)/gen/libholter_reader.map
	$(CC) $(ALL_CFLAGS) -shared $(Z_DEFS) -Wl,--as-needed -Wl,-soname,libholter_reader.so.$(SOVERSION) \
		-Wl,--version-script=$(O)/gen/libholter_reader.map -o $@ $(reader_obj) $(READER_LIBS)
	@ln -sf $(@F) $(O)/libholter_reader.so.$(SOVERSION)

$(O)/libholter.so: $(shim_obj) preload/libholter.map
	$(CC) $(ALL_CFLAGS) -shared -static-libgcc $(Z_DEFS) -Wl,-z,now -Wl,-z,text -Wl,-z,nodelete \
		-Wl,--exclude-libs,ALL \
		-Wl,--as-needed -Wl,--version-script=preload/libholter.map -o $@ $(shim_obj) -l:liblz4.a

$(O)/holter: $(tools_obj) $(O)/libholter_recorder.a $(O)/libholter_reader.a
	$(CC) $(ALL_CFLAGS) -o $@ $(tools_obj) -Wl,--start-group $(O)/libholter_recorder.a \
		$(O)/libholter_reader.a -Wl,--end-group $(TOOL_LIBS) $(ALLOCATOR)

# --- manual pages, installation ------------------------------------------------------------------

.PHONY: man install uninstall
man: $(man_pages) ## generate the manual pages that come from tables
$(O)/gen_man: tools/man/gen_man.c $(O)/libholter_reader.a $(wildcard recorder/format/*.def)
	$(CC) $(ALL_CFLAGS) -o $@ $< $(O)/libholter_reader.a $(READER_LIBS)
$(O)/man/holter-%.7: $(O)/gen_man
	@mkdir -p $(@D)
	$(O)/gen_man $* > $@

D = $(DESTDIR)$(PREFIX)
L = $(DESTDIR)$(LIBDIR)
install: all ## install into $(DESTDIR)$(PREFIX)
	install -d $(D)/bin $(L)/pkgconfig $(D)/include $(D)/share/man/man1 $(D)/share/man/man5 \
		$(D)/share/man/man7 $(D)/share/bash-completion/completions
	install -m 755 $(O)/holter $(D)/bin/holter
	install -m 755 $(O)/libholter.so $(L)/libholter.so
	install -m 755 $(O)/libholter_reader.so $(L)/libholter_reader.so.$(SOVERSION)
	ln -sf libholter_reader.so.$(SOVERSION) $(L)/libholter_reader.so
	install -m 644 $(O)/libholter_reader.a $(L)/libholter_reader.a
	install -m 644 $(PUBLIC_HEADERS) $(D)/include
	for page in $(man_pages); do \
		install -m 644 $$page $(D)/share/man/man$${page##*.}/ || exit 1; done
	for pc in tools/*.pc.in; do sed -e 's|@PREFIX@|$(PREFIX)|' -e 's|@LIBDIR@|$(LIBDIR)|' \
		-e 's|@VERSION@|$(VERSION)|' $$pc > $(L)/pkgconfig/$$(basename $$pc .in) || exit 1; done
	install -m 644 tools/completions/holter $(D)/share/bash-completion/completions/holter
uninstall: ## remove what install put there
	rm -f $(D)/bin/holter $(L)/libholter.so $(L)/libholter_reader.* \
		$(addprefix $(D)/include/,$(notdir $(PUBLIC_HEADERS))) \
		$(D)/share/man/man?/holter*.[1-8] $(L)/pkgconfig/holter.pc $(L)/pkgconfig/holter_reader.pc \
		$(D)/share/bash-completion/completions/holter

# --- packages ------------------------------------------------------------------------------------

.PHONY: deps deps-bench
deps: ## install the Debian packages that are missing (root), or name them (not root)
	@bash .ci/deps build check
deps-bench: ## the same for the peers that `make bench` compares with
	@bash .ci/deps build check bench

# --- tests ---------------------------------------------------------------------------------------

.PHONY: check check-long check-unit check-asan check-tsan check-fuzz check-e2e check-scripts \
	check-servers check-format check-arch check-size check-docs check-warnings check-install lint \
	demo bench bench-readme tests unit fuzz e2e-programs coverage
check: ## install what is missing, build, run every test (< 15 minutes on two cores)
	@$(MAKE) --no-print-directory deps
	@MAKE='$(MAKE)' JOBS=$(JOBS) bash tests/check.sh build format arch size docs warnings lint unit \
		asan tsan fuzz e2e scripts servers install
check-long: ## as check, with longer fuzzing, stress and walker runs
	@$(MAKE) --no-print-directory deps
	@HOLTER_LONG=1 MAKE='$(MAKE)' JOBS=$(JOBS) bash tests/check.sh build format arch size docs \
		warnings lint unit asan tsan fuzz e2e scripts servers install

# A line ` * link: FILES AND LIBRARIES` in the opening comment of a test names what it needs besides. A test
# may stand in for functions of libc: they are visible.
test_link = $(shell sed -n 's|^ \* link: *||p' $<)
$(O)/unit/%: tests/unit/%.c $(O)/libholter_recorder.a $(O)/libholter_reader.a $(O)/libholter_tools.a \
		$(O)/flags
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -fvisibility=default -DTEST_BUILD_DIR='"$(O)"' -MMD -MP -MF $@.d -o $@ $< \
		$(test_link) $(TEST_LIBS)
unit: $(unit_bin) ## build the unit tests of this variant
tests: unit e2e-programs ## build every test program

check-unit: $(unit_bin) ## unit tests
	@bash tests/unit/unit_run.sh $(unit_bin)
check-asan: ## unit tests with AddressSanitizer and UBSan
	@$(MAKE) --no-print-directory BUILD=asan check-unit
# Tests of what several threads do at once. Not test_ring: its storm of signals starves instrumented
# threads (ThreadSanitizer delays handlers). Not test_engine: it counts threads, and one is the sanitizer's.
TSAN_TESTS := $(filter $(addprefix tests/unit/test_,append.c region.c depot.c tables.c \
	thread.c lease.c process_table.c thread_table.c live_table.c names.c module_table.c),$(UNIT_SRC))
check-tsan: ## unit tests of the concurrent parts with ThreadSanitizer
	@$(MAKE) --no-print-directory BUILD=tsan UNIT_SRC='$(TSAN_TESTS)' check-unit

# A fuzzer is a file with LLVMFuzzerTestOneInput; clang brings the driver.
FUZZ_SECONDS ?= $(if $(HOLTER_LONG),600,20)
$(O)/fuzz/%: tests/fuzz/%.c $(wildcard recorder/*/*.[ch] reader/*.[ch] reader/analysis/*.[ch])
	@mkdir -p $(@D)
	$(CLANG) $(BASE_CFLAGS) $(VERSION_CFLAGS) -O1 -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined \
		-o $@ $< $(filter-out recorder/capture/%,$(RECORDER_SRC)) $(READER_ONLY_SRC) $(READER_LIBS)
fuzz: $(fuzz_bin) ## build the fuzzers
check-fuzz: $(fuzz_bin) ## each fuzzer for 20 s
	@FUZZ_SECONDS=$(FUZZ_SECONDS) JOBS=$(JOBS) bash tests/fuzz/fuzz_run.sh $(fuzz_bin)

# Programs of the end-to-end tests: source and flags of each stand in its line of cases.txt.
$(O)/gen/e2e.mk: tests/e2e/cases.txt tests/e2e/cases.awk
	@mkdir -p $(@D)
	@awk -v out=$(O)/e2e -v mode=make -f tests/e2e/cases.awk $< > $@
ifneq ($(filter check-e2e e2e-programs tests check-servers demo,$(MAKECMDGOALS)),)
-include $(O)/gen/e2e.mk
endif
e2e-programs: $(E2E_PROGRAMS) ## build the programs of the end-to-end tests
check-e2e: all e2e-programs ## end-to-end tests (CASES=glob selects)
	@O=$(O) JOBS=$(JOBS) PYTHON=$(PYTHON) bash tests/e2e/run.sh $(CASES)
check-scripts: all e2e-programs ## tests of the commands and of installed files, as scripts
	@O=$(O) PYTHON=$(PYTHON) bash tests/e2e/scripts.sh
check-servers: all ## redis, memcached, nginx, PostgreSQL, python3 and others under the recorder
	@O=$(O) PYTHON=$(PYTHON) bash tests/e2e/servers.sh $(CASES)
check-install: all ## install into a scratch folder and use what is there
	@O=$(O) MAKE='$(MAKE)' CC='$(CC)' bash tests/e2e/install.sh

# --- static checks -------------------------------------------------------------------------------

C_FILES := $(wildcard $(addsuffix /*.[ch],preload recorder recorder/* reader reader/* tools tools/* \
	tests/*  tests/*/*))
check-format: ## clang-format
	@CLANG_FORMAT=$(CLANG_FORMAT) bash tests/arch/format.sh $(C_FILES)
check-arch: all ## layers, symbol prefixes, exports
	@O=$(O) CC='$(CC)' $(PYTHON) tests/arch/arch.py
check-size: ## lengths of functions, files, headers
	@$(PYTHON) tests/arch/size.py
check-docs: all ## every function, setting, event and command is described
	@O=$(O) $(PYTHON) tests/arch/docs.py
check-warnings: ## clang's view of every file, with the same warnings
	@CLANG=$(CLANG) JOBS=$(JOBS) FLAGS='$(BASE_CFLAGS)' bash tests/arch/warnings.sh \
		$(filter-out tests/e2e/% tests/bench/%,$(filter %.c,$(C_FILES)))
lint: ## clang-tidy, cppcheck, shellcheck
	@CLANG_TIDY=$(CLANG_TIDY) JOBS=$(JOBS) FLAGS='$(BASE_CFLAGS)' bash tests/arch/lint.sh \
		$(RECORDER_SRC) $(filter %.c,$(PRELOAD_SRC)) $(READER_ONLY_SRC) $(TOOLS_SRC)

# --- demonstration, measurements -----------------------------------------------------------------

demo: ## record an unmodified redis-server under load, dump it twice, show what happened
	@$(MAKE) --no-print-directory deps
	@$(MAKE) --no-print-directory -j$(JOBS) all
	@O=$(O) PYTHON=$(PYTHON) bash tests/e2e/demo.sh

# What interposition itself costs: the same hooks, each only passing on.
$(O)/noop_shim.so: tests/bench/noop_shim.c $(shim_obj) $(O)/libholter_recorder.a preload/libholter.map
	$(CC) $(ALL_CFLAGS) $(SHIM_CFLAGS) -MMD -MP -MF $@.d -shared -static-libgcc -Wl,-z,now \
		-Wl,--exclude-libs,ALL -Wl,--version-script=preload/libholter.map -o $@ $< \
		$(addprefix $(O)/shim/preload/,real.o boot.o vfork.o) $(O)/libholter_recorder.a -l:liblz4.a
$(O)/bench/%: tests/bench/%.c $(O)/libholter_recorder.a $(O)/libholter_reader.a $(O)/libholter_tools.a
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -MF $@.d -o $@ $< $(test_link) $(TEST_LIBS)
bench_needs := all $(bench_bin) $(O)/noop_shim.so
bench: deps-bench ## measure the recorder's cost beside its peers (BENCH=quick: under 2 minutes)
	@$(MAKE) --no-print-directory -j$(JOBS) $(bench_needs)
	@O=$(O) BENCH=$(BENCH) PYTHON=$(PYTHON) bash tests/bench/bench.sh
bench-readme: bench ## the same, and the table into README.md
	@$(PYTHON) tests/bench/bench_table.py --readme README.md $(O)/bench/results.txt

coverage: ## line coverage of the unit tests, worst files first
	@$(MAKE) --no-print-directory BUILD=cov check-unit
	@cd build/cov && gcov -n -r $$(find obj -name '*.gcda') 2>/dev/null | \
		awk '/^File/ { f = $$2 } /^Lines/ { sub("Lines executed:", ""); print $$0, f }' | sort -n

clean: ## remove everything that was built
	rm -rf build
-include $(shell find $(O) -name '*.d' 2>/dev/null)
