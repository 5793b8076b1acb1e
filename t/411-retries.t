#!/bin/sh
# When the next attempt is: by the schedule, by Retry-After, at the deadline;
# what holds a lane back; redirects, which are shown and not followed; interim
# answers, which are none.
. "${0%/*}/lib.sh"
. "${0%/*}/wire.sh"
need_db

# The pause in seconds after the last attempt, over all of a name's.
pauses() {	# NAME
	psql -X -q -A -t -v name="$1" <<-'EOT'
		select round(extract(epoch from d.next_attempt_at - a.at))
		from webhook_deliveries d
		join webhook_attempts a on a.delivery_id = d.id
		    and a.attempt = d.attempts
		where d.event_type = :'name'
		order by d.subscription_id, d.id
	EOT
}
within() {	# FROM TO NUMBERS NAME: are they all?
	is "$(echo "$3" | awk -v from="$1" -v to="$2" '
	    $1 == "" || $1 < from || $1 > to')" '' "$4"
}

# The schedule, one attempt after another; time is made to pass.
sink <<'EOT'
/500 * status 500
EOT
sub schedule "$sink/500"
i=0
while [ $i -lt 5 ]; do		# a lane each, or the breaker would open
	i=$((i + 1))
	sub schedule "$sink/500"
done
event schedule
hook-fanout
for pause in 5 300 1800 7200 18000 36000 50400 72000; do
	run hook-deliver
	within $((pause * 4 / 5 - 1)) $((pause * 6 / 5 + 2)) \
	    "$(pauses schedule)" "after $pause s, give or take a fifth"
	[ $pause = 5 ] || [ "$(pauses schedule | sort -u | wc -l)" -gt 1 ]
	check '... and not all at once'
	sql "update webhook_deliveries set next_attempt_at = now();
	    update webhook_lanes set failures = 0, breaker = 'closed',
		hold_until = null, next_due_at = now()"
done
run hook-deliver
is "$(sql "select distinct next_attempt_at = give_up_at, attempts,
	round(extract(epoch from give_up_at - created_at) / 3600)
    from webhook_deliveries")" 't|9|72' \
    'past its end, at the deadline, 72 hours after the fan-out'
sql "update webhook_deliveries set next_attempt_at = now(), give_up_at = now();
    update webhook_lanes set failures = 0, breaker = 'closed',
	hold_until = null, next_due_at = now()"
run hook-deliver
is "$(went schedule | sort -u)" 'expired 10 500 status 500' \
    '... and then no more'
sub soon "$sink/500" deadline_ms=60000 "retry_ms='{300000}'"
event soon
deliver
is "$(sql "select next_attempt_at = give_up_at from webhook_deliveries
    where event_type = 'soon'")" t 'a pause beyond the deadline ends there'

# C14: Retry-After, by a clock that cannot be set: dates are made from now.
base=$(date +%s)
imf() {
	date -u -d "@$((base + $1))" '+%a, %d %b %Y %H:%M:%S GMT'
}
# name of the pause, of the hold; the header
cat >"$work/after" <<EOT
900 900|Retry-After: 900
900 900|retry-after:900
900 900|:\\nRetry-After: 900
900 900|RETRY-AFTER: 	 900 	 
900 900|Retry-After: 000000000000000000000900
900 900|Retry-After: 10\\r\\nRetry-After: 900
900 900|Retry-After: 900\\r\\nRetry-After: 10
900 900|Retry-After: 900\\r\\nRetry-After: junk
900 900|Retry-After: 900\\r\\nRetry-After: $(imf -60)
date date|Retry-After: $(imf 900)
date date|Retry-After: $(date -u -d "@$((base + 900))" \
    '+%A, %d-%b-%y %H:%M:%S GMT')
date date|Retry-After: $(date -u -d "@$((base + 900))" '+%a %b %e %T %Y')
date date|Retry-After: 10\\r\\nRetry-After: $(imf 900)
usual ten|Retry-After: 10
usual short|Retry-After: 0
usual usual|Retry-After: -3
usual usual|Retry-After: +900
usual usual|Retry-After: 1.5
usual usual|Retry-After: 1e3
usual usual|Retry-After: 0x384
usual usual|Retry-After: 900junk
usual usual|Retry-After: 900, 900
usual usual|Retry-After: 9 00
usual usual|Retry-After: "900"
usual usual|Retry-After:
usual usual|Retry-After: $(imf -60)
usual usual|Retry-After: Wed, 31 Dec 2025 23:59:00 GMT
usual usual|Retry-After: $(imf 900 | sed 's/GMT/+0200/')
usual usual|Retry-After: $(imf 900 | sed 's/GMT/CEST/')
usual usual|Retry-After: $(imf 900 | sed 's/ [0-9][0-9]:/ 25:/')
usual usual|Retry-After: $(imf 900 | sed 's/, [0-9][0-9] /, 32 /')
usual usual|X-Retry-After: 900
most most|Retry-After: 9999999999
most most|Retry-After: 9223372037
most most|Retry-After: 99999999999999999999
most most|Retry-After: 9223372036854775808
most most|Retry-After: Fri, 31 Dec 9999 23:59:59 GMT
EOT
n=0
while IFS='|' read -r what header; do
	n=$((n + 1))
	for status in 429 503 500; do
		printf '%s\n' \
		    "/after-$status-$n. * status $status | header $header"
	done
done <"$work/after" >"$work/rules"
cat >>"$work/rules" <<EOT
/after-200 * status 200 | header Retry-After: 900
/after-301 * status 301 | header Retry-After: 900
/after-410 * status 410 | header Retry-After: 900
/interim-after * raw HTTP/1.1 103 Early\\r\\nRetry-After: 900\\r\\n\\r\\n\
HTTP/1.1 503 No\\r\\n\\r\\n
EOT
sink <"$work/rules"
psql -X -q -v ON_ERROR_STOP=1 -v sink="$sink" -v n="$n" \
    -v secret="$secret" <<'EOT'
insert into webhook_subscriptions (name, url, event_types, retry_ms,
    max_concurrency)
select 'after', :'sink' || '/after-' || status || '-' || i || '.', '{after}',
    '{100000,100000}', 1
from unnest(array[429, 503, 500]) status, generate_series(1, :n) i
order by status, i;
insert into webhook_subscriptions (name, url, event_types, retry_ms)
select 'other', :'sink' || path, '{other}', '{100000}'
from unnest(array['/after-200', '/after-301', '/after-410',
    '/interim-after']) path;
insert into webhook_secrets (subscription_id, secret)
select id, :'secret' from webhook_subscriptions
where name in ('after', 'other');
insert into webhook_outbox (event_type, payload)
values ('after', '1'), ('after', '2'), ('other', '3');
EOT
deliver
exits 0 'all the Retry-After there are'
# status n: attempts, pause and hold in seconds, of each of its deliveries
psql -X -q -A -t -F ' ' >"$work/paused" <<'EOT'
select split_part(s.url, '-', 2), split_part(split_part(s.url, '-', 3), '.', 1),
    d.attempts, extract(epoch from d.next_attempt_at - a.at),
    coalesce(extract(epoch from l.hold_until - a.at), 0)
from webhook_deliveries d
join webhook_subscriptions s on s.id = d.subscription_id
join webhook_lanes l on l.subscription_id = s.id
join webhook_attempts a on a.delivery_id = d.id
where s.name = 'after'
EOT
# What is not as the table has it; a pause of 100 s may be 80 to 120, a first
# hold 4 to 6 s, and all may be 3 s late, and a date so much nearer by now.
awk '
function fits(name, s) {
	if (name == "usual") return s >= 79 && s <= 124
	if (name == "900") return s >= 900 && s <= 903
	if (name == "date") return s > 800 && s <= 903
	if (name == "most") return s > 259190 && s <= 259203
}
function holds(name, s) {
	if (name == "usual") return s >= 4 && s <= 9
	if (name == "ten") return s >= 10 && s <= 13
	if (name == "short") return s <= 3
	return fits(name, s)
}
FILENAME == ARGV[1] { split($0, f, "|"); what[++n] = f[1]; next }
{
	split(what[$2], name, " ")
	bad = $3 != 1 || !fits(name[1], $4) ||
	    ($1 == 500 ? $5 != 0 : !holds(name[2], $5))
	print $1, $2, bad ? "attempts " $3 ", pause " $4 ", hold " $5 : "fine"
}' "$work/after" "$work/paused" | sort -n >"$work/judged"
i=0
while IFS='|' read -r what header; do
	i=$((i + 1))
	is "$(grep -E "^(429|500|503) $i " "$work/judged" | cut -d ' ' -f 1,3- |
	    sort -u | xargs)" '429 fine 500 fine 503 fine' \
	    "pause and hold: $what, for $(printf %s "$header" | tr '\\\t' '/ ')"
done <"$work/after"
# Of each two deliveries; a pause of 0 holds nothing.
is "$(grep -c -e ^429 -e ^503 "$work/judged")" $((n * 2 + 2)) \
    'nothing is sent to a lane that is held, whatever waits there'
is "$(sql "select s.url ~ 'interim', d.state, extract(epoch from
	next_attempt_at - now()) < 200, l.hold_until is null
    from webhook_deliveries d
    join webhook_subscriptions s on s.id = d.subscription_id
    join webhook_lanes l on l.subscription_id = s.id
    where s.name = 'other' order by s.id" | xargs)" \
    'f|delivered|t|t f|failed|t|t f|failed|t|t t|pending|t|f' \
    'after a 200, a 301, a 410 or an interim answer it says nothing'

# C15: redirects.
sink <<'EOT'
EOT
elsewhere=$sink
elsewhere_dir=$sink_dir
n=0
while IFS='|' read -r where reason; do
	for status in 301 302 303 307 308; do
		n=$((n + 1))
		case $where in
		none)	echo "/r-$n. * status $status | body moved" ;;
		*)	printf '%s\n' \
			    "/r-$n. * status $status | header Location: $where"
			;;
		esac
		echo "$n $status $reason" >>"$work/moved"
	done
done >"$work/rules" <<EOT
$elsewhere/landing|$elsewhere/landing
/other|/other
/r-1.|/r-1.
https://127.0.0.1/in?token=t0psecret#x|https://127.0.0.1/in
//example.com/x|//example.com/x
file:///etc/passwd|file:///etc/passwd
a\\x1b[31mb\\xff|a?[31mb?
none|no Location
EOT
sink <"$work/rules"
psql -X -q -v ON_ERROR_STOP=1 -v sink="$sink" -v secret="$secret" \
    -v n="$n" <<'EOT'
insert into webhook_subscriptions (name, url, event_types, retry_ms)
select 'r ' || n, :'sink' || '/r-' || n || '.', '{redirect}', '{100000}'
from generate_series(1, :n) n;
insert into webhook_secrets (subscription_id, secret)
select id, :'secret' from webhook_subscriptions where name ~ '^r ';
insert into webhook_outbox (event_type, payload) values ('redirect', '1');
EOT
deliver
exits 0 'redirects'
is "$(psql -X -q -A -t -F ' ' <<'EOT'
select substr(name, 3)::int, d.last_status, d.state, d.last_error
from webhook_deliveries d
join webhook_subscriptions s on s.id = d.subscription_id
where name ~ '^r ' order by 1
EOT
)" "$(while read -r n status reason; do
	case $status in
	301|308) state=failed ;;
	*)	state=pending ;;
	esac
	echo "$n $status $state redirect, not followed: $reason"
done <"$work/moved")" 'are shown, permanent ones fail'
is "$(cat "$elsewhere_dir/log") $(grep -c '^in' "$sink_dir/log")" " $n" \
    '... and not one is followed'

# C18: interim answers come first, and mean nothing.
sink <<'EOT'
/i-103 * interim 103 3
/i-100 * interim 100
/i-102 * interim 102 3 300
/i-cut * raw HTTP/1.1 103 Early Hints\r\n\r\n
/i-500 * interim 103 | status 500
EOT
for name in i-103 i-100 i-102 i-cut i-500; do
	sub $name "$sink/$name" "retry_ms='{100000}'"
	event $name
done
deliver
is "$(went i-103) $(went i-100) $(went i-102)" \
    'delivered 1 200 - delivered 1 200 - delivered 1 200 -' \
    'after interim answers, the last one counts'
is "$(went i-cut) $(went i-500)" "pending 1 - head: no final answer, only \
status 103 pending 1 500 status 500" '... and none of them is the last'
is "$(grep -c '^in' "$sink_dir/log")" 5 '... of one request each'
done_testing
