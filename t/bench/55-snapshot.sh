#!/bin/sh
# Somebody keeps an old snapshot for the whole drain, so that no dead row can
# be vacuumed: against the same drain without.
. "${0%/*}/lib.sh"
# In full, what it might leave behind bears on no other section.
quick || start_pg max_prepared_transactions=10
start_nginx
n=$(few 300000 6000)
held=

hold() {	# DATABASE STATEMENTS: a session that stays open with them
	mkfifo "$work/hold.$n_start"
	start sh -c 'exec psql -X -q -v ON_ERROR_STOP=1 -d "$1" <"$2"' sh "$1" \
	    "$work/hold.$n_start"
	held=$pid
	exec 9>"$work/hold.$((n_start - 1))"
	echo "$2" >&9
	until_true 10 '[ "$(sql "select count(*) from pg_stat_activity
	    where state = '\''idle in transaction'\''")" -ge 1 ]'
}

drain() {	# none|same|other|prepared: $rate
	bench_db
	subs 10 max_concurrency=20
	events "$((n / 10))"
	fan_out
	settle
	case $1 in
	same)	hold "$PGDATABASE" \
		    'begin isolation level repeatable read; select 1;' ;;
	other)	PGDATABASE=postgres sql 'create table if not exists t (n int)'
		hold postgres 'begin; insert into t values (1);' ;;
	prepared)
		sql "create table t (n int)"
		sql "begin; insert into t values (1);
		    prepare transaction 'o'" ;;
	esac
	timed hook-deliver
	[ "$(delivered)" = "$n" ] || die "$(delivered) of $n were delivered"
	rate=$(calc "$n / $wall" %.0f)
	case $1 in
	same|other)
		exec 9>&-
		wait "$held" || : ;;
	prepared)
		sql "rollback prepared 'o'" ;;
	esac
}

drain none
first=$rate
drain same
same=$rate
drain other
other=$rate
drain prepared
prepared=$rate
quick || drain none
none=$(median "$first" "$rate")
quick && none=$first
row "drain of $n, nothing held" "$none" /s
row -b "$none" -r ge:0.9 '... with a snapshot held open' "$same" /s
row -b "$none" -r ge:0.9 '... with an open writer in another database' \
    "$other" /s
row -b "$none" -r ge:0.9 '... with an orphaned prepared transaction' \
    "$prepared" /s
