# shellcheck shell=sh
# lib.sh - the words that the sections of the bench are written in.
#
# A section is a file t/bench/NN-NAME.sh, run by scripts/bench on its own, in
# the order of the numbers, as sh -eu; it begins with
#
#	. "${0%/*}/lib.sh"
#
# and ends with status 0, whatever it measured.  What it can't run fails it:
# the reason is then the last line of its stderr, the other sections go on,
# and bench exits 70.  What it starts is ended after it, its databases too.
#
#	few FULL QUICK		prints QUICK under bench -q, else FULL
#	quick			true under bench -q
#	row [-b BASE] [-r ge|le:RATIO] NAME FIGURE UNIT [ge|le TARGET]
#				a line of the table and of bench.ndjson.  With
#				-b the ratio is FIGURE / BASE; met: all
#				targets named are, "-" where none is
#	left_out NAME WHY	a row that this run does not measure
#	die WHY			the section can't go on
#	note TEXT		on stderr, if that is a terminal or BENCH_NOTES
#				is set: what takes so long
#	calc EXPRESSION [FORMAT] awk's arithmetic; %.6g
#	median N ...		and "largest N ...", "smallest N ..."
#	percentile P FILE	of numbers, one a line
#	now			seconds, with a fraction
#	until_true S CONDITION	polls it; S seconds at most, or the section
#				fails
#	free_port		prints one of the loopback interface
#
# The database.  PG* leads to the bench's server: fsync on, the settings of
# scripts/bench.
#
#	bench_db		a new database with the schema: $PGDATABASE;
#				under bench -q a section's second one is its
#				first, emptied
#	start_pg [s=v ...]	another server, for this section alone, with
#				these settings besides the bench's
#	sql STATEMENT		prints the rows, fields with | between
#	pg_cpu			prints seconds of CPU so far of: sessions,
#				WAL writer, other background work, autovacuum
#	pg_cost			what passed of these since the last pg_mark:
#	pg_mark			$cpu_sessions $cpu_wal $cpu_other $cpu_vacuum
#
# The work.
#
#	subs N [COLUMN=SQL ...]	N subscriptions to everything of their tenant,
#				with a secret each; SQL may use the number n
#				and :url
#	events N [COLUMN=SQL ...] N events, with payloads of 300 bytes
#	fan_out			hook-fanout until nothing waits
#	delivered		how many deliveries have been
#	until_delivered N	waits, 300 s at most, at next to no cost: one
#				session, where a psql for each look takes 14 ms
#	settle [TABLE, ...]	vacuum analyze and a checkpoint, so that each
#				run starts from the same
#
# Programs.
#
#	start_followers		hook-deliver -f and hook-fanout -f, until that
#				sleeps: $deliver_pid, $fanout_pid
#	timed command ...	runs it: $wall, $cpu (seconds), $rss (KiB), and
#				fails unless it exits 0
#	start command ...	in the background: $pid, $log
#	stop PID ...		SIGTERM, and waits
#	start_clocked NAME command ...	start; after "stop $pid", "clocked
#				NAME" gives $wall, $cpu, $rss
#	start_nginx		answers 204 to everything: $url
#	start_recv [option ...]	t/bench/recv.c, which has the options: $url,
#				$recv_log; "recv_count" prints how many came
#	latencies PACE RECV	t/bench/pace.c, which makes events at a pace:
#				ms from commit to first arrival, one a line
#	bare N [option ...]	t/bench/bare.c, against $url: $bare_rate (a
#				second), $bare_cpu (seconds a request)
#
# $work is the section's own folder, $top the source's, $BUILD the build's.
set -eu
top=$(cd "${0%/*}/../.." && pwd)
section=${0##*/}
section=${section%.sh}
work=$BENCH_WORK/$section
mkdir -p "$work"
n_start=0
own_pg=
export LC_ALL=C TZ=UTC HOOK_ALLOW_NET=127.0.0.0/8

quick() {
	[ "$BENCH_QUICK" = 1 ]
}

few() {
	if quick; then echo "$2"; else echo "$1"; fi
}

note() {
	if [ -n "$BENCH_NOTES" ]; then
		printf '  %s %s: %s\n' "$(date +%T)" "$section" "$*" >&3
	fi
}

die() {
	printf '%s\n' "$*" | tr '\n\t' '  ' | tr -s ' ' >&2
	echo >&2
	exit 70
}

calc() {
	awk "BEGIN { printf \"${2-%.6g}\\n\", $1 }"
}

median() {
	printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 } END {
		print (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2 }'
}

largest() {
	printf '%s\n' "$@" | sort -g | tail -n 1
}

smallest() {
	printf '%s\n' "$@" | sort -g | head -n 1
}

percentile() {	# P FILE
	sort -g "$2" | awk -v p="$1" '{ v[NR] = $1 } END {
		if (NR == 0) exit 1
		i = int(NR * p / 100 + 0.999999)
		print v[i < 1 ? 1 : i] }'
}

now() {
	date +%s.%N
}

until_true() {	# S CONDITION
	end=$(($(date +%s) + $1))
	until eval "$2"; do
		[ "$(date +%s)" -le "$end" ] || die "not within $1 s: $2"
		sleep 0.02
	done
}

free_port() {
	perl -MIO::Socket::INET -e 'print IO::Socket::INET->new(Listen => 1,
	    LocalAddr => "127.0.0.1")->sockport, "\n"'
}

# The table's line; bench prints its head.
show() {	# NAME FIGURE TARGET RATIO MET
	printf '%-54s %13s  %-16s %6s  %s\n' "$@"
}

row() {
	base='' ratio_target=''
	OPTIND=1
	while getopts b:r: opt; do
		case $opt in
		b) base=$OPTARG ;;
		r) ratio_target=$OPTARG ;;
		*) die 'row: bad option' ;;
		esac
	done
	shift $((OPTIND - 1))
	[ $# = 3 ] || [ $# = 5 ] || die "row: $# words"
	# shellcheck disable=SC2016 # jq's own
	jq -cn --arg section "${section#*-}" --arg name "$1" --arg figure "$2" \
	    --arg unit "$3" --arg op "${4-}" --arg target "${5-}" \
	    --arg base "$base" --arg rt "$ratio_target" \
	    --arg load "$(cut -d ' ' -f 1 /proc/loadavg)" '
	    def num: if . == "" then null else tonumber end;
	    def holds($op; $x; $y): if $op == "ge" then $x >= $y
		elif $op == "le" then $x <= $y else error("op " + $op) end;
	    ($rt / ":") as $r
	    | {section: $section, name: $name, figure: ($figure | num),
		unit: $unit, target_op: (if $op == "" then null else $op end),
		target: ($target | num), base: ($base | num)}
	    | .ratio = (if (.base // 0) == 0 then null else
		(.figure / .base * 1000 | round / 1000) end)
	    | .ratio_op = (if $rt == "" then null else $r[0] end)
	    | .ratio_target = (if $rt == "" then null else $r[1] | num end)
	    | .met = (if .target == null and .ratio_target == null then null
		else (.target == null or holds(.target_op; .figure; .target))
		    and (.ratio_target == null or (.ratio != null and
		    holds(.ratio_op; .ratio; .ratio_target))) end)
	    | .load = ($load | num)
	    | ., (.ratio // "-"),
		if .met == null then "-" elif .met then "yes" else "NO" end
	    | if type == "object" then tojson else . end' -r >"$work/row" ||
	    die "row: $*"
	head -n 1 "$work/row" >>"$BENCH_OUT"
	wanted=
	[ $# = 3 ] || wanted="$4 $5"
	[ -z "$ratio_target" ] ||
	    wanted="${wanted:+$wanted, }${ratio_target%%:*}\
 ${ratio_target#*:}x"
	wanted=$(echo "$wanted" | sed 's/ge/>=/g;s/le/<=/g')
	show "$1" "$2 $3" "${wanted:--}" "$(sed -n 2p "$work/row")" \
	    "$(sed -n 3p "$work/row")"
}

left_out() {	# NAME WHY
	# shellcheck disable=SC2016 # jq's own
	jq -cn --arg section "${section#*-}" --arg name "$1" --arg why "$2" \
	    '{section: $section, name: $name, left_out: $why}' >>"$BENCH_OUT"
	show "$1" "left out" "$2" '' ''
}

sql() {
	psql -X -q -A -t -v ON_ERROR_STOP=1 -c "$1"
}

bench_db() {
	case $(quick && echo "$PGDATABASE") in
	b_*)
		empty
		return ;;
	esac
	db=b_$(echo "$section" | tr -c 'a-z0-9\n' _)_$(date +%N)
	PGDATABASE=postgres sql "create database $db
	    template bench_template" >&2 || die 'no database'
	export PGDATABASE="$db"
	[ -n "$own_pg" ] || echo "$db" >>"$BENCH_WORK/databases"
}

# As new, but for the numbers: a copy of the template takes ten times as long.
empty() {
	psql -X -q -v ON_ERROR_STOP=1 >&2 <<-'EOT' || die 'no empty database'
		select 'truncate ' || string_agg(oid::regclass::text, ', ')
		    || ' cascade'
		from pg_class where relkind = 'r' and relname like 'webhook\_%'
		    and relname <> 'webhook_migrations'
		    and pg_relation_size(oid) > 0 \gexec
	EOT
}

start_pg() {
	own_pg=$work/pg
	mkdir -p "$own_pg"
	# shellcheck disable=SC2086 # several words
	env=$(pg-tmp start -f "$own_pg" $BENCH_SETTINGS "$@") ||
	    die 'no server'
	eval "$env"
	BENCH_PG=$own_pg
	sql 'create database bench_template'
	PGDATABASE=bench_template hook-migrate >"$work/migrate.log" ||
	    die 'hook-migrate fails'
}

pg_home() {
	if [ -f "$BENCH_PG/where" ]; then
		cat "$BENCH_PG/where"
	else
		echo "$BENCH_PG"
	fi
}

# Of the server's processes: sessions that are there and those that ended,
# less what autovacuum says in the log that it took.
pg_cpu() {
	perl - "$(head -n 1 "$(pg_home)/data/postmaster.pid")" \
	    "$(pg_home)/log" <<-'EOT'
		my ($pm, $log) = @ARGV;
		my $tick = 100;
		my ($sessions, $wal, $other, $vacuum) = (0, 0, 0, 0);
		for my $f (glob '/proc/[0-9]*/stat') {
			open my $h, '<', $f or next;
			my $s = <$h> // next;
			my ($pid) = $s =~ /^(\d+)/;
			$s =~ s/^.*\) //s;
			my @v = split ' ', $s;
			next if $v[1] != $pm && $pid != $pm;
			my $cpu = ($v[11] + $v[12]) / $tick;
			open my $c, '<', "/proc/$pid/cmdline" or next;
			my $title = <$c> // '';
			if ($pid == $pm) {
				$other += $cpu;
				$sessions += ($v[13] + $v[14]) / $tick;
			} elsif ($title =~ /walwriter/) {
				$wal += $cpu;
			} elsif ($title =~ /checkpointer|writer|launcher/) {
				$other += $cpu;
			} elsif ($title !~ /autovacuum worker/) {
				$sessions += $cpu;
			}
		}
		open my $l, '<', $log or die;
		while (<$l>) {
			$vacuum += $1 + $2 if
			    /CPU: user: (\S+) s, system: (\S+) s/;
		}
		printf "%.2f %.2f %.2f %.2f\n", $sessions - $vacuum, $wal,
		    $other, $vacuum;
	EOT
}

pg_mark() {
	cpu_then=$(pg_cpu)
}

pg_cost() {
	# shellcheck disable=SC2046 # four words
	set -- $cpu_then $(pg_cpu)
	cpu_sessions=$(calc "$5 - $1")
	cpu_wal=$(calc "$6 - $2")
	cpu_other=$(calc "$7 - $3")
	cpu_vacuum=$(calc "$8 - $4")
}

subs() {
	count=$1
	shift
	columns='' values=''
	for s; do
		columns="$columns, ${s%%=*}" values="$values, ${s#*=}"
	done
	case $columns in
	*', url'*) ;;
	*) columns="$columns, url" values="$values, :'url' || '/' || n" ;;
	esac
	psql -X -q -v ON_ERROR_STOP=1 -v url="${url-}" <<-EOT
		with s as (insert into webhook_subscriptions
		    (name${columns})
		select 'bench ' || n${values} from generate_series(1, $count) n
		returning id)
		insert into webhook_secrets (subscription_id, secret)
		select id,
		    'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE='
		from s;
	EOT
}

events() {
	count=$1
	shift
	columns='' values=''
	for s; do
		columns="$columns, ${s%%=*}" values="$values, ${s#*=}"
	done
	case $columns in
	*', event_type'*) ;;
	*) columns="$columns, event_type" values="$values, 'bench.event'" ;;
	esac
	sql "insert into webhook_outbox (payload$columns)
	    select (rpad('{\"n\":' || n || ',\"data\":\"', 298, 'x')
		|| '\"}')::json$values
	    from generate_series(1, $count) n"
}

fan_out() {
	hook-fanout 2>"$work/fanout.log" ||
	    die "$(tail -n 1 "$work/fanout.log")"
}

delivered() {
	sql "select coalesce(sum(value), 0) from webhook_counters
	    where name = 'deliveries_finished' and outcome = 'delivered'"
}

until_delivered() {
	PGOPTIONS='-c statement_timeout=300s' sql "do \$\$ begin
	    while (select coalesce(sum(value), 0) < $1 from webhook_counters
		where name = 'deliveries_finished'
		    and outcome = 'delivered') loop
		commit;
		perform pg_sleep(0.02);
		commit;
	    end loop; end \$\$" || die "not within 300 s: $1 delivered"
}

settle() {
	if quick; then
		psql -X -q -c "vacuum analyze ${1-webhook_outbox,
		    webhook_deliveries_pending, webhook_lanes,
		    webhook_subscriptions, webhook_secrets, webhook_inbox}"
	else
		psql -X -q -c "vacuum analyze ${1-}" -c checkpoint
	fi
}

start_followers() {
	start hook-deliver -f
	deliver_pid=$pid
	start hook-fanout -f
	fanout_pid=$pid
	until_true 20 '[ "$(sql "select count(*) from webhook_wakeup
	    where asleep")" -ge 1 ]'
}

clocked() {	# NAME
	# shellcheck disable=SC2034 # for the sections
	read -r wall user sys rss <"$work/$1.clocked" || die "$1: no figures"
	cpu=$(calc "$user + $sys")
}

timed() {
	"$BUILD/bench/clocked" "$work/timed.clocked" "$@" >"$work/out" \
	    2>"$work/err" || die "$1: $(tail -n 1 "$work/err")"
	clocked timed
}

start_clocked() {	# NAME COMMAND
	clocked_name=$1
	shift
	start "$BUILD/bench/clocked" "$work/$clocked_name.clocked" "$@"
}

start() {
	n_start=$((n_start + 1))
	log=$work/${1##*/}.$n_start.log
	"$@" >"$log" 2>&1 &
	pid=$!
}

stop() {
	for p; do
		kill "$p" 2>/dev/null || :
		wait "$p" 2>/dev/null || :
	done
}

start_nginx() {
	port=$(free_port)
	url=http://127.0.0.1:$port
	mkdir -p "$work/nginx"
	cat >"$work/nginx/conf" <<-EOT
		worker_processes 1;
		daemon off;
		pid $work/nginx/pid;
		error_log $work/nginx/errors error;
		worker_rlimit_nofile 16384;
		events { worker_connections 8192; }
		http {
			access_log off;
			keepalive_requests 1000000000;
			keepalive_timeout 3600s;
			client_body_temp_path $work/nginx/1;
			proxy_temp_path $work/nginx/2;
			fastcgi_temp_path $work/nginx/3;
			uwsgi_temp_path $work/nginx/4;
			scgi_temp_path $work/nginx/5;
			server {
				listen 127.0.0.1:$port backlog=4096;
				return 204;
			}
		}
	EOT
	start env PATH="$PATH:/usr/sbin" nginx -e "$work/nginx/errors" \
	    -p "$work/nginx" -c "$work/nginx/conf"
	nginx_pid=$pid
	until_true 10 'curl -s -o /dev/null "$url/" || ! kill -0 $nginx_pid'
	kill -0 "$nginx_pid" 2>/dev/null ||
	    die "nginx: $(tail -n 1 "$work/nginx/errors")"
}

start_recv() {
	recv_log=$work/recv.$((n_start + 1)).arrived
	rm -f "$work/recv.port"
	start "$BUILD/bench/recv" -o "$recv_log" -p "$work/recv.port" "$@"
	recv_pid=$pid
	until_true 10 '[ -s "$work/recv.port" ]'
	url=http://127.0.0.1:$(cat "$work/recv.port")
}

recv_count() {
	curl -s "$url/_count"
}

# What "pace" printed joined with what the receiver wrote: milliseconds.
latencies() {	# PACE RECV
	awk 'NR == FNR { at[$1] = $2; next }
	    ($1 in at) && !seen[$1]++ { print ($2 - at[$1]) / 1000 }' "$@"
}

bare() {
	count=$1
	shift
	"$BUILD/bench/bare" -n "$count" "$@" "$url/bare" >"$work/bare" ||
	    die 'bare fails'
	bare_rate=$(jq .per_second "$work/bare")
	bare_cpu=$(jq '(.user_s + .sys_s) / .requests' "$work/bare")
}
