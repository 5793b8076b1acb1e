# shellcheck shell=sh
# engine.sh - more words, for the tests of fan-out and lanes.  After lib.sh;
# wire.sh's are here too: sub, event, seen, again.
#
#	events NAME N		N events for the subscription NAME, numbered
#	fanout, worker [option ...]	start a follower: $pid, $log
#	count [WHERE]		deliveries
#	lane COLUMN [SUB]	of the last subscription's lane, or that one's
#	ids [-a] PATH		webhook-ids that the sink got there, each once,
#				sorted; with -a as they first came
#	now_ms			milliseconds since 1970
#	damage			the first large payload of the day loses its
#				bytes, as on a broken disk
#	old_server		until the server has run for so long that leases
#				that ran out are taken over
. "$top/t/wire.sh"

events() {
	sql "insert into webhook_outbox (event_type, payload)
	    select '$1', json_build_object('n', n)
	    from generate_series(1, $2) n"
}

fanout() {
	start hook-fanout -f "$@"
}

worker() {
	start hook-deliver -f "$@"
}

count() {
	sql "select count(*) from webhook_deliveries where ${1-true}"
}

lane() {
	sql "select coalesce($1::text, '-') from webhook_lanes
	    where subscription_id = ${2-$sub}"
}

ids() {
	if [ "$1" = -a ]; then
		awk -v path="$2" '$1 == "in" && $5 == path && !had[$6]++ {
		    print $6 }' "$sink_dir/log"
	else
		awk -v path="$1" '$1 == "in" && $5 == path { print $6 }' \
		    "$sink_dir/log" | sort -u
	fi
}

now_ms() {
	date +%s%3N
}

# pg_surgery would do, but is not in PostgreSQL 13, nor in every packaging.
damage() {
	psql -X -q -v ON_ERROR_STOP=1 <<-'EOT'
	select max(reltoastrelid)::regclass as toast from pg_class
	where oid in (select tableoid from webhook_outbox) \gset
	begin;
	update pg_class set relkind = 'r' where oid = :'toast'::regclass;
	delete from :toast
	where chunk_id = (select min(chunk_id) from :toast);
	update pg_class set relkind = 't' where oid = :'toast'::regclass;
	commit;
	vacuum :toast;
	EOT
}

old_server() {
	wait_for 15 "[ \"\$(sql \"select now() > pg_postmaster_start_time()
	    + interval '10.5 s'\")\" = t ]"
}
