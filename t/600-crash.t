#!/bin/sh
# Nothing is lost: fan-outs and workers are killed at random moments, 200
# times, while the server dies, comes back and stays away for 20 seconds.
. "${0%/*}/lib.sh"
. "${0%/*}/engine.sh"
durable=1
need_own_cluster

sink <<'EOT'
/plain * delay 15
/flaky 3 status 500
/flaky 30-32 close
/flaky 90 rst
/flaky 150-153 delay 1500
/flaky 300-301 status 500
/flaky * delay 5
/ordered 20 status 500
/ordered 100 close
/ordered * delay 5
EOT
schedule="'{100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100,100}'"
for s in plain flaky ordered; do
	sub $s "$sink/$s" "retry_ms=$schedule" \
	    "ordered=$([ $s = ordered ] && echo true || echo false)" \
	    timeout_ms=1000
done
sql "update webhook_subscriptions set event_types = '{*}'"

# Three events of one object, in one transaction; returns whether it committed.
produce() {
	psql -X -q -v ON_ERROR_STOP=1 -v n="$1" >/dev/null 2>&1 <<-'EOT'
		insert into webhook_outbox (aggregate_id, event_type, payload)
		select 'object ' || :n, 'object.' || t, '{}'
		from unnest(array['created', 'updated', 'deleted']) t
	EOT
}

begin() {	# SLOT: another life of it
	case $1 in
	1|2)	fanout -i 200ms ;;
	*)	worker -l 1s -i 200ms -j 16 ;;
	esac
	eval "slot$1=$pid"
}

# A random number below $1.
random() {
	od -An -N2 -tu2 /dev/urandom | { read -r n; echo $((n % $1)); }
}

for i in 1 2 3 4; do
	begin $i
done
round=0 back=
while [ $round -lt 200 ]; do
	round=$((round + 1))
	produce $round
	case $round in
	40|180)
		[ -n "$back" ] || pg-tmp restart "$own_cluster" -m immediate ;;
	80)
		pg-tmp stop "$own_cluster" -m immediate
		back=$(($(date +%s) + 20)) ;;
	esac
	if [ -n "$back" ] && [ "$(date +%s)" -ge "$back" ]; then
		pg-tmp go "$own_cluster"
		back=
	fi
	# A moment: some requests later, or some time.
	want=$(($(wc -l <"$sink_dir/log") + $(random 30)))
	until=$(($(now_ms) + 60 + $(random 200)))
	wait_for 5 '[ "$(wc -l <"$sink_dir/log")" -gt $want ] ||
	    [ "$(now_ms)" -ge $until ]'
	i=$(($(random 4) + 1))
	eval "stop \$slot$i KILL"
	begin $i
done
if [ -n "$back" ]; then
	wait_for 25 '[ "$(date +%s)" -ge "$back" ]'
	pg-tmp go "$own_cluster"
fi
wait_for 40 '[ "$(sql "select count(*) filter (where fanned_out_at is null)
    from webhook_outbox")" = 0 ] && [ "$(count "state = '\''pending'\''")" = 0 ]' \
    'after 200 kills, crashes and 20 s without a server, all is worked off'

note "$(sql "select count(*) || ' events' from webhook_outbox")" \
    "$(sql "select count(*) || ' attempts, ' || count(*) filter (where error like 'no outcome%') || ' without an outcome' from webhook_attempts")" \
    "$(sql "select sum(takeovers) || ' take-overs' from webhook_lanes")"
[ "$(sql 'select count(*) from webhook_outbox')" -gt 200 ]
check 'many events were committed meanwhile'
is "$(count)" "$(($(sql 'select count(*) from webhook_outbox') * 3))" \
    'each event has become one delivery for each subscription'
is "$(sql 'select count(*) from (select from webhook_deliveries
    group by outbox_id, subscription_id having count(*) > 1) d')" 0 \
    '... and none twice'
is "$(sql 'select distinct fanned_out_to from webhook_outbox')" 3 \
    '... which each event knows'
is "$(sql "select distinct state from webhook_deliveries")" delivered \
    'every one of them is delivered, none has failed or expired'
sql 'select event_id from webhook_outbox' | sort >"$work/want"
for s in plain flaky ordered; do
	ids /$s | cmp -s - "$work/want"
	check "$s got each event, and none that was not committed"
done
is "$(sql "select count(*) from webhook_deliveries d where attempts <>
    (select count(*) from webhook_attempts a where a.delivery_id = d.id)
    or attempts <> (select max(attempt) from webhook_attempts a
	where a.delivery_id = d.id)")" 0 \
    'attempts are counted as often as they are on record'
sql "select event_id || ' ' || aggregate_id || ' ' || id from webhook_outbox" \
    >"$work/events"
is "$(ids -a /ordered | awk 'NR == FNR { of[$1] = $3; id[$1] = $4; next }
    id[$1] < last[of[$1]] { print of[$1] } { last[of[$1]] = id[$1] }' \
    "$work/events" -)" '' 'what is ordered first came in order'

for i in 1 2 3 4; do
	eval "stop \$slot$i"
	is $rc 0 "... and follower $i ends at SIGTERM"
done
is "$(sql 'select count(*) from webhook_lanes where owner is not null')" 0 \
    'no lane is left claimed'
is "$(cat "$work"/hook-*.log | grep -c '^error ')" 0 'no error was logged'

run hook-reconcile
is "$rc $(cat "$work/out" "$work/err")" '0 ' \
    'hook-reconcile finds nothing missing, doubled or stuck'

done_testing
