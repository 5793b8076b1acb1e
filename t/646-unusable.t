#!/bin/sh
# Rows that can't be worked on: each ends, or waits for something, with its
# reason; none is looked at in every poll, and none holds up the good ones.
. "${0%/*}/lib.sh"
. "${0%/*}/engine.sh"
need_db
sink <<'EOT'
/good * delay 5
EOT

sub good "$sink/good"
for kind in removed junk sealed bare url scheme blocked paused damaged; do
	case $kind in
	url)	url='http://user:pa55@127.0.0.1/x' ;;
	scheme)	url='gopher://127.0.0.1/x' ;;
	blocked) url='http://10.0.0.1/x' ;;
	*)	url=$sink/$kind ;;
	esac
	sub $kind "$url" "retry_ms='{60000}'"
done
psql -X -q -v ON_ERROR_STOP=1 <<'EOT'
update webhook_subscriptions set event_types = '{old}' where name <> 'good';
update webhook_subscriptions set event_types = '{toast}'
where name = 'damaged';
insert into webhook_outbox (event_type, payload)
select 'old', '{}' from generate_series(1, 150);
insert into webhook_outbox (event_type, payload)
select 'toast', to_json((select string_agg(md5(n::text), '')
    from generate_series(1, 4000) n));
EOT
run hook-fanout
exits 0 'fan-out'
is "$(count)" 1201 '150 deliveries of each kind, and one that is damaged'
psql -X -q -A -t -v ON_ERROR_STOP=1 >"$work/out" <<'EOT'
delete from webhook_subscriptions where name = 'removed';
update webhook_secrets s set secret = case name when 'junk' then 'junk'
    else 'sealed:v1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA' end
from webhook_subscriptions w where w.id = subscription_id
    and name in ('junk', 'sealed');
delete from webhook_secrets s using webhook_subscriptions w
where w.id = subscription_id and name = 'bare';
update webhook_subscriptions set state = 'paused' where name = 'paused';
EOT
damage

fanout -i 100ms
worker -i 500ms -j 8
deliver_log=$log
events good 10
at=$(now_ms)
wait_for 10 '[ "$(seen /good)" = 10 ]' 'the good ones are delivered'
at=$(($(now_ms) - at))
[ $at -lt 3000 ]
check "... within a few polls ($at ms)"

sum() {
	sql "select s.name, d.state, count(*), min(d.attempts), max(d.attempts),
	    min(regexp_replace(coalesce(d.last_error, d.discarded, '-'), ':.*', ':')),
	    min(d.next_attempt_at) > now() + interval '2 s'
	    from webhook_deliveries d
	    left join webhook_subscriptions s on s.id = d.subscription_id
	    where d.event_type <> 'good' group by 1, 2 order by 1, 2"
}
want='bare|pending|150|1|1|secret:|t
blocked|failed|150|1|1|url:|f
damaged|pending|1|0|0|-|f
junk|pending|150|1|1|secret:|t
paused|pending|150|0|0|-|f
scheme|failed|150|1|1|url:|f
sealed|pending|150|1|1|secret:|t
url|failed|150|1|1|url:|f
|discarded|150|0|0|subscription removed|f'
wait_for 5 '[ "$(sum)" = "$want" ]'
is "$(sum)" "$want" 'each of the others ends, or waits, with its reason'
is "$(grep -c "can't be read.*missing chunk" "$deliver_log")" 1 \
    'a row that is damaged is told of, and holds only its own lane'
wait_for 5 "[ \"\$(sql \"select count(*) from webhook_lanes
    where owner is not null or next_due_at < now() + interval '5 s'\")\" = 0 ]" \
    'no lane of them stays held, or is due'

# Nobody looks at them again in each poll.
busy() {
	sql "select xact_commit + xact_rollback from pg_stat_database
	    where datname = current_database()"
}
from=$(busy)
until=$(($(now_ms) + 2000))
wait_for 5 '[ "$(now_ms)" -ge $until ]'
n=$(($(busy) - from))
[ $n -lt 100 ]
check "2 seconds of nothing cost few transactions ($n)"
is "$(sum)" "$want" '... and none of them is tried'
is "$(awk '$1 == "in" && $5 != "/good"' "$sink_dir/log" | wc -l)" 0 \
    'nothing was sent of them'
stop
is "$rc $(wc -l <"$deliver_log")" '0 1' 'all that was logged is one line'

done_testing
