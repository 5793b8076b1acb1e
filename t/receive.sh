# shellcheck shell=sh
# receive.sh - more words, for the tests of hook-receive.
#
#	source_of NAME SCHEME SECRET [option ...]	hook-source add
#	receiver [option ...]	starts hook-receive on a free port, and waits
#				until it is ready: $rcv_pid, $rcv_log, $rcv
#				(its URL), RCV_PORT
#	try NAME		runs the Perl on stdin, with the words of
#				t/receive.pl; its last value says whether it
#				went well
#	later			starts it in the background: $pid, $out
#	stored [CONDITION]	how many messages the inbox holds

source_of() {
	printf %s "$3" >"$work/secret.$1"
	name=$1 scheme=$2
	shift 3
	hook-source add -s "$scheme" -k "$work/secret.$name" "$@" "$name" \
	    >"$work/source.out" || exit
}

receiver() {
	start hook-receive -l 127.0.0.1:0 "$@"
	rcv_pid=$pid rcv_log=$log
	wait_for 10 'grep -q "listening address=" "$rcv_log" ||
	    ! kill -0 $rcv_pid 2>/dev/null'
	RCV_PORT=$(sed -n 's/.*listening address=.*:\([0-9]*\)$/\1/p' \
	    "$rcv_log" | head -n 1)
	export RCV_PORT RCV_PID="$rcv_pid"
	rcv=http://127.0.0.1:$RCV_PORT
	[ "${1-}" = -d ] || ready
}

ready() {
	wait_for 20 '[ "$(curl -s -m 2 -o /dev/null -w "%{http_code}" \
	    "$rcv/readyz")" = 200 ]'
}

try() {
	cat >"$work/try.pl"
	perl -w "$top/t/receive.pl" "$work/try.pl" >"$work/try.out" 2>&1
	ok $? "$1" || note "$(head -c 2000 "$work/try.out")"
}

later() {
	cat >"$work/later.$n_start.pl"
	start perl -w "$top/t/receive.pl" "$work/later.$n_start.pl"
}

stored() {
	sql "select count(*) from webhook_inbox where ${1-true}"
}
