# shellcheck shell=sh
# lib.sh - the words that the test scripts are written in.
#
#	need_db			a database of this script's own, migrated
#	need_own_cluster [s=v]	a server of its own, to stop or to set; with
#				durable=1 it survives -m immediate
#	run command		leaves $rc, $work/out, $work/err
#	exits STATUS NAME	... and the last run exited so
#	is GOT WANT NAME	equal strings
#	like GOT PATTERN NAME	an extended regular expression
#	check NAME		the status of the command before it
#	sql STATEMENT		prints the rows, fields with | between
#	wait_for S COND [NAME]	until the shell condition holds, S seconds at
#				most; without NAME only a failure is counted
#	start command		in the background: $pid, its stdout in $out and
#				its stderr in $log
#	stop [PID [SIGNAL]]	end the last or that one and wait: $rc
#	sink [option]		starts the scripted server (t/sink.c) with the
#				rules on stdin: $sink (its URL), $sink_dir,
#				$sink_port, $sink_pid
#	verify SECRET-FILE	do the npm packages accept all requests that
#				$sink_dir holds?  A line each in $work/out, $rc
#	port			prints a free port of the loopback interface
#	done_testing		last: the plan
#
# $work is the script's own folder, removed at the end unless KEEP=1.
# A missing server or tool fails the script.  Nothing is ever skipped, but what
# the system's own tools can't do with a newer server, that of PG_BIN:
#
#	tool_is COMMAND		older, newer than the server, or the same
#	skip REASON		instead of a check
set -u
top=$(cd "${0%/*}/.." && pwd)
BUILD=${BUILD:-build}
case $BUILD in /*) ;; *) BUILD=$top/$BUILD ;; esac
# Debian's psql is a Perl script that looks for one of these.
for d in /usr/lib/postgresql/*/bin; do
	[ ! -x "$d/psql" ] || PATH=$d:$PATH
done
# Another server to test may bring only some of the clients.
PATH=${PG_BIN:+$PG_BIN:}$PATH
PATH=$BUILD:$top/scripts:$PATH
work=$(mktemp -d "${TMPDIR:-/tmp}/hook-${0##*/}.XXXXXX") || exit
chmod 711 "$work"
n_test=0
n_failed=0
n_start=0
pids=
own_db=
own_cluster=
durable=
unset HOOK_SCHEMA HOOK_KEY_FILE HOOK_PROXY HOOK_CA_FILE HOOK_MAX_PAYLOAD
export BUILD PATH HOOK_ALLOW_NET=127.0.0.0/8,::1 LC_ALL=C TZ=UTC
ASAN_OPTIONS="exitcode=99:detect_leaks=1:log_path=$work/sanitizer"
UBSAN_OPTIONS="print_stacktrace=1:exitcode=99:log_path=$work/sanitizer"
export ASAN_OPTIONS UBSAN_OPTIONS

ok() {		# STATUS NAME
	n_test=$((n_test + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n_test - $2"
	else
		echo "not ok $n_test - $2"
		n_failed=$((n_failed + 1))
		return 1
	fi
}

note() {
	printf '%s\n' "$@" | sed 's/^/# /'
}

check() {
	ok $? "$1"
}

is() {
	[ "$1" = "$2" ]
	ok $? "$3" || note "got:  $1" "want: $2"
}

like() {
	printf '%s\n' "$1" | grep -Eq -e "$2"
	ok $? "$3" || note "got:  $1" "like: $2"
}

run() {
	rc=0
	"$@" >"$work/out" 2>"$work/err" || rc=$?
}

exits() {
	[ "$rc" = "$1" ]
	ok $? "$2" || {
		note "exited with $rc, not $1" "$(head -c 2000 "$work/err")"
		return 1
	}
}

sql() {
	psql -X -q -A -t -v ON_ERROR_STOP=1 -c "$1"
}

wait_for() {
	now=$(date +%s)
	end=$((now + $1))
	while ! eval "$2"; do
		if [ "$(date +%s)" -gt "$end" ]; then
			ok 1 "${3:-within $1 s: $2}"
			return 1
		fi
		sleep 0.02
	done
	[ -z "${3-}" ] || ok 0 "$3"
}

start() {
	n_start=$((n_start + 1))
	out=$work/${1##*/}.$n_start.out
	log=$work/${1##*/}.$n_start.log
	"$@" >"$out" 2>"$log" &
	pid=$!
	pids="$pids $pid"
	# A signal before the exec would meet the shell's traps: wait for it.
	i=0
	while cmp -s /proc/$$/cmdline "/proc/$pid/cmdline" && [ $i -lt 200 ]; do
		i=$((i + 1))
	done
}

stop() {
	rc=0
	kill "-${2:-TERM}" "${1:-$pid}" 2>/dev/null
	wait "${1:-$pid}" 2>/dev/null || rc=$?
}

port() {
	perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1,
	    LocalAddr => "127.0.0.1")->sockport, "\n"'
}

sink() {
	sink_dir=$work/sink.$((n_start + 1))
	mkdir "$sink_dir"
	cat >"$sink_dir/rules"
	start "$BUILD/t/sink" -d "$sink_dir" -r "$sink_dir/rules" "$@"
	sink_pid=$pid
	wait_for 5 '[ -s "$sink_dir/port" ] || ! kill -0 $sink_pid 2>/dev/null'
	sink_port=$(cat "$sink_dir/port") || { cat "$log" >&2; exit 1; }
	sink=http://127.0.0.1:$sink_port
}

verify() {
	for h in "$sink_dir"/[0-9]*.head; do
		echo "$h ${h%.head}.body $1"
	done >"$work/verify"
	run node "$top/t/npm/verify.js" - <"$work/verify"
}

tool_is() {
	its=$("$1" --version | sed 's/^[^0-9]*//; s/[^0-9].*//')
	servers=$(sql 'show server_version_num' | cut -c 1-2)
	if [ -z "${PG_BIN-}" ] || [ "$its" = "$servers" ]; then
		echo same
	elif [ "$its" -lt "$servers" ]; then
		echo older
	else
		echo newer
	fi
}

skip() {
	n_test=$((n_test + 1))
	echo "ok $n_test # SKIP $1"
}

need_cluster() {	# setting=value...
	own_cluster=$work/pg
	pg_env=$(pg-tmp start ${durable:+-f} "$own_cluster" "$@") || exit
	eval "$pg_env"
}

need_own_cluster() {
	need_cluster "$@"
	make_db
}

need_db() {
	[ -n "${HOOK_TEST_CLUSTER-}" ] || need_cluster
	make_db
}

make_db() {
	db=t_$(basename "$0" .t | tr -c 'a-z0-9\n' _)_$$
	# scripts/check has migrated one to copy, which takes a third.
	from=template0
	[ -n "$own_cluster" ] || from=${HOOK_TEST_TEMPLATE:-template0}
	PGOPTIONS='-c client_min_messages=warning' \
	    sql "create database $db template $from" || exit
	own_db=$db
	own_server="host=$PGHOST port=$PGPORT user=$PGUSER dbname=postgres"
	export PGDATABASE=$db
	[ $from = template0 ] || return 0
	hook-migrate >"$work/migrate.log" 2>&1 ||
	    { cat "$work/migrate.log" >&2; exit 1; }
}

stop_all() {
	for p in $pids; do
		kill "$p" 2>/dev/null || continue
		kill -CONT "$p" 2>/dev/null
		i=0
		while kill -0 "$p" 2>/dev/null && [ $i -lt 250 ]; do
			sleep 0.02
			i=$((i + 1))
		done
		kill -9 "$p" 2>/dev/null
		wait "$p" 2>/dev/null
	done
	pids=
}

clean_up() {
	stop_all
	if [ -n "$own_cluster" ]; then
		pg-tmp remove "$own_cluster"
	elif [ -n "$own_db" ]; then
		PGOPTIONS='' psql -X -q -d "$own_server" \
		    -c "drop database $own_db with (force)"
	fi
	if [ "${KEEP-}" = 1 ]; then
		echo "# kept: $work"
	else
		rm -rf "$work"
	fi
}
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

done_testing() {
	stop_all
	for f in "$work"/sanitizer.*; do
		[ -e "$f" ] || continue
		ok 1 'no error seen by a sanitizer'
		note "$(head -n 40 "$f")"
	done
	echo "1..$n_test"
}
