# hookutils.  Targets: all check bench fuzz demo install lint dist
# deb clean.
#
#	make check T='t/200-enqueue.t'	some scripts only
#	make check PROVE_FLAGS=-v	see every check
#	make check SAN=1		under ASan and UBSan, in build-san
#	make soak SOAK=10m		everything at once, killed and restarted
#	make bench BENCH=-q		measure: in a minute; without, all
#	make install PREFIX=/usr DESTDIR=/tmp/root
#
# A new lib/*.c, cmd/hook-*.c, sql/query/*.sql, t/unit/*.c, t/fuzz/*.c or
# man/* is found by its name; nothing here needs an edit.

VERSION	= 0.2.1
PREFIX	?= /usr/local
DESTDIR	?=

ifdef SAN
BUILD	?= build-san
OPT	= -O1 -fno-omit-frame-pointer -fsanitize=address,undefined \
	  -fno-sanitize-recover=all
else
BUILD	?= build
OPT	= -O2 -D_FORTIFY_SOURCE=2
endif

# One spelling, or the dependencies kept under the other are not seen.
override BUILD := $(patsubst $(CURDIR)/%,%,$(BUILD))

CC	= gcc
CLANG	= clang
# zlib: hook-receive unpacks bodies of senders that compress them.
PKG	= libpq libcurl libssl libcrypto libbsd-overlay zlib
PKG_CFLAGS := $(shell pkg-config --cflags $(PKG))
PKG_LIBS := $(shell pkg-config --libs $(PKG))
SSL_LIBS := $(shell pkg-config --libs libssl libcrypto)

WARN	= -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes \
	  -Wformat=2 -Wvla -Wpointer-arith -Wwrite-strings
CFLAGS	= -g $(OPT) -fstack-protector-strong $(WERROR)
CPPFLAGS = -std=c11 -D_GNU_SOURCE -I$(BUILD) -Ilib $(PKG_CFLAGS)
COMPILE	= $(CC) $(CPPFLAGS) $(WARN) $(CFLAGS) -MMD -MP
LDFLAGS	= -Wl,--as-needed

LIB	= $(patsubst lib/%.c,$(BUILD)/lib/%.o,$(wildcard lib/*.c)) \
	  $(BUILD)/stmt.o
CMD	= $(patsubst cmd/%.c,$(BUILD)/%,$(wildcard cmd/hook-*.c))
UNIT	= $(patsubst t/unit/%.c,$(BUILD)/t/%.t,$(wildcard t/unit/*.c))
BENCHES	= $(patsubst t/bench/%.c,$(BUILD)/bench/%,$(wildcard t/bench/*.c))
FUZZ	= $(patsubst t/fuzz/%.c,$(BUILD)/fuzz/%,$(wildcard t/fuzz/*.c))
GEN	= $(BUILD)/stmt.h $(BUILD)/config.h
FUZZ_S	= 10

all: $(CMD) $(BUILD)/libhook.a
tests: all $(UNIT) $(BUILD)/t/sink $(BENCHES)
bench-tools: $(CMD) $(BENCHES)

# Rewritten only when the text changes, so that a query's new wording
# recompiles one file; the stamp says that this was looked at.  The folders
# stand for files that went away.
$(BUILD)/embedded: scripts/embed-sql Makefile sql/query sql/schema \
    $(wildcard sql/query/*.sql)
	@mkdir -p $(BUILD)/lib $(BUILD)/cmd $(BUILD)/t $(BUILD)/bench \
	    $(BUILD)/fuzz
	@VERSION=$(VERSION) PREFIX=$(PREFIX) scripts/embed-sql $(BUILD)
	@touch $@
$(GEN) $(BUILD)/stmt.c: $(BUILD)/embedded
	@:

$(BUILD)/stmt.o: $(BUILD)/stmt.c $(GEN)
	$(COMPILE) -c -o $@ $<
$(BUILD)/lib/%.o: lib/%.c | $(GEN)
	$(COMPILE) -c -o $@ $<
$(BUILD)/cmd/%.o: cmd/%.c | $(GEN)
	$(COMPILE) -c -o $@ $<
$(BUILD)/t/%.o: t/unit/%.c | $(GEN)
	$(COMPILE) -c -o $@ $<
$(BUILD)/bench/%.o: t/bench/%.c | $(GEN)
	$(COMPILE) -c -o $@ $<

# Made anew each time, so that a module that was removed is gone from it.
$(BUILD)/libhook.a: $(LIB)
	@rm -f $@
	$(AR) rcs $@ $(LIB)

$(BUILD)/hook-%: $(BUILD)/cmd/hook-%.o $(BUILD)/libhook.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libhook.a $(PKG_LIBS) -lm
$(BUILD)/t/%.t: $(BUILD)/t/%.o $(BUILD)/libhook.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libhook.a $(PKG_LIBS) -lm
$(BUILD)/bench/%: $(BUILD)/bench/%.o $(BUILD)/libhook.a
	$(CC) $(CFLAGS) $(LDFLAGS) -o $@ $< $(BUILD)/libhook.a $(PKG_LIBS) \
	    -lm -lpthread
$(BUILD)/t/sink: $(wildcard t/sink/*.[ch]) | $(GEN)
	$(CC) -std=c11 -D_GNU_SOURCE $(WARN) $(CFLAGS) $(LDFLAGS) -o $@ \
	    $(wildcard t/sink/*.c) $(SSL_LIBS)

# Built of sources, not of libhook.a: the library is instrumented too.
$(BUILD)/fuzz/%: t/fuzz/%.c $(wildcard lib/*.c lib/*.h) $(GEN) | \
    has-clang
	$(CLANG) $(CPPFLAGS) -g -O1 -fsanitize=fuzzer,address,undefined \
	    -fno-sanitize-recover=all -o $@ $< $(wildcard lib/*.c) \
	    $(BUILD)/stmt.c $(PKG_LIBS) -lm

fuzz: $(FUZZ)
	@for f in $(FUZZ); do \
		n=$${f##*/}; \
		mkdir -p $(BUILD)/fuzz/$$n.corpus t/fuzz/$$n || exit; \
		echo "fuzz $$n for $(FUZZ_S) s"; \
		$$f -max_total_time=$(FUZZ_S) -timeout=5 -verbosity=0 \
		    -artifact_prefix=$(BUILD)/fuzz/$$n- \
		    $(BUILD)/fuzz/$$n.corpus t/fuzz/$$n \
		    >$(BUILD)/fuzz/$$n.log 2>&1 || \
		    { cat $(BUILD)/fuzz/$$n.log; exit 1; }; \
	done

has-clang:
	@command -v $(CLANG) >/dev/null || { echo 'fuzz: please install' \
	    'clang and its runtime: apt-get install clang libclang-rt-14-dev' \
	    >&2; exit 69; }

check:
	@BUILD=$(BUILD) SAN=$(SAN) PROVE_FLAGS="$(PROVE_FLAGS)" MAKEFLAGS= \
	    scripts/check $(T)

# In its own folder, since what is measured is never under SAN.
bench:
	@BUILD=build-bench SAN= MAKEFLAGS= scripts/bench $(BENCH)

# Seconds, or 90s, 10m, 2h.
SOAK	?= 10m
soak: tests
	@BUILD=$(BUILD) SOAK=$(SOAK) MAKEFLAGS= scripts/soak

lint:
	@BUILD=$(BUILD) MAKEFLAGS= scripts/lint

demo:
	@MAKEFLAGS= scripts/demo

BINDIR	= $(DESTDIR)$(PREFIX)/bin
SHARE	= $(DESTDIR)$(PREFIX)/share/hookutils
MANDIR	= $(DESTDIR)$(PREFIX)/share/man

# Nothing goes outside PREFIX: units, settings and configurations are in
# SHARE/etc, with the paths of this PREFIX in them, to be put where the system
# has its own; hook(7), "Setting it up", says where.
install: all install-completion
	install -d $(BINDIR) $(SHARE)/sql/schema $(SHARE)/etc
	install -m 755 $(CMD) scripts/hook scripts/hook-migrate $(BINDIR)
	install -m 644 sql/partitions.sql $(SHARE)/sql
	install -m 644 sql/schema/*.sql $(SHARE)/sql/schema
	cp -R scripts/etc/. $(SHARE)/etc
	find $(SHARE)/etc -type f -exec chmod 644 {} + -exec sed -i \
	    's,/usr/local/\(bin\|share\),$(PREFIX)/\1,g' {} +
	for p in man/*.[1-8]; do \
		d=$(MANDIR)/man$${p##*.}; \
		install -d $$d && install -m 644 $$p $$d || exit; \
	done

# bash finds the file of a command by its name.  Debian keeps zsh's elsewhere.
BASHDIR	= $(DESTDIR)$(PREFIX)/share/bash-completion/completions
ZSHDIR	= $(DESTDIR)$(PREFIX)/share/zsh/site-functions

install-completion:
	install -d $(BASHDIR) $(ZSHDIR) $(SHARE)
	install -m 644 scripts/completion/options $(SHARE)/completion
	install -m 644 scripts/completion/_hook $(ZSHDIR)
	install -m 644 scripts/completion/hook.bash $(BASHDIR)/hook
	for t in hook-migrate $(notdir $(CMD)); do \
		ln -sf hook $(BASHDIR)/$$t || exit; \
	done

# What git knows, so that nothing that lies about gets in; in an unpacked
# tarball, what is there.
TOP	= hookutils-$(VERSION)
dist:
	@mkdir -p $(BUILD)
	@{ git archive --format=tar --prefix=$(TOP)/ HEAD 2>/dev/null || \
	    tar -cf - --exclude='./build*' --exclude=./run --exclude=./.git \
	    --exclude='*.tar.gz' --exclude=node_modules \
	    --transform 's|^\.|$(TOP)|' .; } | gzip -9n >$(BUILD)/$(TOP).tar.gz
	@echo $(BUILD)/$(TOP).tar.gz

# The Debian package of what dist packs, made in a folder of its own.
DEB	= $(BUILD)/deb
deb: dist has-debhelper
	@rm -rf $(DEB) && mkdir -p $(DEB)
	@tar -xzf $(BUILD)/$(TOP).tar.gz -C $(DEB)
	@cd $(DEB)/$(TOP) && unset MAKEFLAGS MFLAGS BUILD SAN && \
	    DEB_BUILD_OPTIONS="parallel=2 $$DEB_BUILD_OPTIONS" \
	    dpkg-buildpackage -us -uc -b >../log 2>&1 || \
	    { tail -n 30 ../log >&2; exit 1; }
	@ls $(DEB)/hookutils_*.deb

# As root: in a Debian of its own, with systemd and rows in the queue.
deb-trial:
	@BUILD=$(BUILD) MAKEFLAGS= scripts/deb-trial

has-debhelper:
	@command -v dpkg-checkbuilddeps >/dev/null || { echo 'deb: please' \
	    'install dpkg-dev and debhelper' >&2; exit 69; }
	@out=$$(dpkg-checkbuilddeps 2>&1) || { echo 'deb: please install' \
	    "$${out##*dependencies: }: apt-get build-dep ." >&2; exit 69; }

clean:
	rm -rf $(BUILD)

.PHONY: all tests bench-tools check bench fuzz lint demo soak install dist \
	install-completion deb deb-trial has-debhelper clean
.SECONDARY:
.DELETE_ON_ERROR:

-include $(wildcard $(BUILD)/*.d $(BUILD)/*/*.d)
