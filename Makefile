# Holter: one non-recursive Makefile. `make help` lists the targets; all output is in build/<variant>.
BUILD ?= release
PREFIX ?= /usr/local
DESTDIR ?=
CC ?= gcc
VERSION := 0.1.0

O := build/$(BUILD)
WARN := -Wall -Wextra -Werror -Wshadow -Wundef -Wvla -Wmissing-prototypes -Wstrict-prototypes
BASE_CFLAGS := -std=gnu11 -g -I. -I$(O)/gen $(WARN) -fvisibility=hidden -fPIC -D_GNU_SOURCE \
	-DHOLTER_VERSION='"$(VERSION)"'
CFLAGS_release := -O2
CFLAGS_debug := -O0
CFLAGS_asan := -O1 -fsanitize=address,undefined -fno-omit-frame-pointer -fno-sanitize-recover=undefined
CFLAGS_tsan := -O1 -fsanitize=thread -fno-omit-frame-pointer
CFLAGS_cov := -O0 --coverage
ALL_CFLAGS := $(BASE_CFLAGS) $(CFLAGS_$(BUILD)) $(CFLAGS)
# The injected object keeps frame pointers, so that the stack walker starts from its own frame
# (recorder/capture/stackwalk.c); no stack protector, no PLT detours on the hot path.
SHIM_CFLAGS := -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer -fno-stack-protector \
	-fno-plt -ftls-model=initial-exec -fexceptions

RECORDER_SRC := $(wildcard recorder/base/*.c recorder/format/*.c recorder/sys/*.c \
	recorder/region/*.c recorder/capture/*.c recorder/dump/*.c recorder/engine/*.c)
PRELOAD_SRC := $(wildcard preload/*.c preload/*.S)
READER_SRC := $(wildcard reader/*.c reader/analysis/*.c) $(wildcard recorder/base/*.c recorder/format/*.c)
TOOLS_SRC := $(wildcard tools/*.c)

shim_obj := $(addprefix $(O)/shim/,$(addsuffix .o,$(basename $(RECORDER_SRC) $(PRELOAD_SRC))))
reader_obj := $(addprefix $(O)/obj/,$(addsuffix .o,$(basename $(READER_SRC))))
recorder_obj := $(addprefix $(O)/obj/,$(addsuffix .o,$(basename $(RECORDER_SRC))))
tools_obj := $(addprefix $(O)/obj/,$(addsuffix .o,$(basename $(TOOLS_SRC))))

.PHONY: all clean help
all: $(O)/libholter.so $(O)/libholter_reader.a $(O)/libholter_reader.so $(O)/holter

$(O)/shim/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) $(SHIM_CFLAGS) -DHOLTER_SHIM=1 -MMD -MP -c -o $@ $<
$(O)/shim/%.o: %.S
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<
$(O)/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(ALL_CFLAGS) -MMD -MP -c -o $@ $<

$(O)/libholter_reader.a: $(reader_obj)
	rm -f $@ && ar rcs $@ $^
$(O)/libholter_reader.so: $(reader_obj)
	$(CC) $(ALL_CFLAGS) -shared -Wl,-z,defs -o $@ $^ -llz4 -lz -ldw -liberty

# The interposed names and their version nodes come from preload/hooks.def.
$(O)/gen/libholter.map: preload/hooks.def preload/hooks_map.awk
	@mkdir -p $(@D)
	awk -f preload/hooks_map.awk preload/hooks.def > $@
$(O)/libholter.so: $(shim_obj) $(O)/gen/libholter.map
	$(CC) $(ALL_CFLAGS) -shared -Wl,-z,defs -Wl,-z,now -Wl,--exclude-libs,ALL -Wl,--as-needed \
		-Wl,--version-script=$(O)/gen/libholter.map -o $@ $(shim_obj) -l:liblz4.a

$(O)/holter: $(tools_obj) $(recorder_obj) $(O)/libholter_reader.a
	$(CC) $(ALL_CFLAGS) -o $@ $(tools_obj) $(recorder_obj) $(O)/libholter_reader.a \
		-llz4 -lz -ldw -lelf -liberty -lsmartcols -ljemalloc -lpthread -ldl

clean:
	rm -rf build
-include $(shell find $(O) -name '*.d' 2>/dev/null)
