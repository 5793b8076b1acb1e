#!/bin/sh
# What an answer means: every row of hook-deliver(1)'s table of outcomes is
# read out of the page and made to happen; then retries, Retry-After, lanes
# that are held, redirects, interim answers, and what disables.
. "${0%/*}/lib.sh"
. "${0%/*}/wire.sh"
need_db

# Every status, without and with the header that aborts.
i=100
while [ $i -lt 1000 ]; do
	if [ $i -lt 200 ]; then
		printf '%s\n' "/s/$i * raw HTTP/1.1 $i Only\r\n\r\n"
	else
		echo "/s/$i * status $i | header Retry-After: 900" \
		    '| header Location: /moved?key=t0p'
		echo "/a/$i * status $i | header Webhook-Delivery: Abort"
	fi
	i=$((i + 1))
done >"$work/rules"
cat >>"$work/rules" <<'EOT'
/hang * hang
/close * close
/half * raw HTTP/1.1 200 OK\r\nX: y\r\n
/long * endless head
/junk * raw hello\r\n\r\nworld
/cut-200 * length 10 | body xyz | then close
/cut-500 * status 500 | length 10 | body xyz | then close
/slow-200 * length 10 | body xyz | then hang
/big-200 * huge 70000
EOT
sink <"$work/rules"

psql -X -q -v ON_ERROR_STOP=1 -v sink="$sink" -v secret="$secret" <<'EOT'
with made as (
	insert into webhook_subscriptions (name, tenant, url, retry_4xx,
	    retry_ms)
	select kind || ' ' || n, 'every', :'sink' || path || n, four,
	    '{600000}'
	from (values ('plain', '/s/', false, 100, 999),
	    ('-4', '/s/', true, 400, 499), ('abort', '/a/', false, 200, 599),
	    ('abort -4', '/a/', true, 400, 499))
	    as k (kind, path, four, first, last)
	cross join generate_series(first, last) n
	returning id)
insert into webhook_secrets (subscription_id, secret)
select id, :'secret' from made;
insert into webhook_outbox (tenant, event_type, payload)
values ('every', 'status', '{"n":1}');
EOT
deliver -j 32
exits 0 'every status there is, answered'

# name outcome and, as the page words them
psql -X -q -A -t -F '|' >"$work/seen" <<'EOT'
select s.name, case when d.state <> 'pending' then d.state
	when d.next_attempt_at >= d.give_up_at then 'not again'
	else 'later' end,
    case when s.state = 'disabled' then 'disables the subscription'
	when l.hold_until > a.at + interval '899 s' then 'holds the lane'
	when d.last_status is null and a.status is null then d.last_error end,
    d.attempts, (select count(*) from webhook_attempts a
	where a.delivery_id = d.id)
from webhook_deliveries d
join webhook_subscriptions s on s.id = d.subscription_id
join webhook_lanes l on l.subscription_id = s.id
join webhook_attempts a on a.delivery_id = d.id
where d.event_type = 'status'
EOT
is "$(awk -F '|' '$4 != 1 || $5 != 1' "$work/seen")" '' \
    '... is one attempt each'
is "$(sql "select distinct d.last_status = split_part(s.name, ' ',
	1 + (s.name ~ '-4')::int + (s.name !~ '^-4')::int)::int
    from webhook_deliveries d
    join webhook_subscriptions s on s.id = d.subscription_id
    where d.event_type = 'status' and s.name !~ 'plain 1..$'")" t \
    '... and is recorded'
is "$(awk '$1 == "in" && $5 !~ "^/[as]/"' "$sink_dir/log")" '' \
    'no redirect is followed'
is "$(grep -c . "$sink_dir/log")" 4500 '... and nothing is sent twice'

# Tells each of the page's rows: answer|outcome|and
table() {
	awk '
	/^\.Ss / { inside = ($2 == "Outcomes") }
	!inside || !/^\.It / || / Sy answer / { next }
	{
		sub(/^\.It /, ""); gsub(/ Ta \\&$/, " Ta "); gsub(/ Ta /, "|")
		print
	}' "$top/man/hook-deliver.1"
}

# The statuses that "400-409, 411 and abort" names: each as a name above.
expand() {	# ANSWER OUTCOME AND
	printf '%s\n' "$1" | awk -v outcome="$2" -v also="$3" '{
		kind = / -4/ ? "-4" : "plain"
		if (/abort/)
			kind = kind == "-4" ? "abort -4" : "abort"
		gsub(/,? (and|no other|abort|-4).*/, "")
		n = split($0, part, ", *")
		for (i = 1; i <= n; i++) {
			to = split(part[i], end, "-")
			for (s = end[1]; s <= end[to]; s++)
				print kind " " s "|" outcome "|" also
		}
	}'
}

table >"$work/table"
[ "$(wc -l <"$work/table")" -gt 35 ]
check 'the page has a table of outcomes'
while IFS='|' read -r answer outcome also; do
	case $answer in
	[1-9][0-9][0-9]*body*) continue ;;
	[1-9]*) ;;
	*) continue ;;
	esac
	expand "$answer" "$outcome" "$also" | sort >"$work/want"
	cut -d '|' -f 1 "$work/want" >>"$work/named"
	awk -F '|' -v also="$also" '
	NR == FNR { want[$1] = 1; next }
	$1 in want {
		if (also != "" && index($3, also) == 1)
			$3 = also
		print $1 "|" $2 "|" $3
	}' "$work/want" "$work/seen" | sort >"$work/got"
	cmp -s "$work/want" "$work/got"
	ok $? "$answer: $outcome${also:+, $also}" ||
	    note "$(diff "$work/want" "$work/got" | head -n 5)"
done <"$work/table"
is "$(grep -c '^plain' "$work/named") $(sort "$work/named" | uniq -d)" '900 ' \
    'the table has each status once'
is "$(grep -c '^-4 4' "$work/named")" 100 '... and each 4xx with -4'
is "$(grep -c '^abort [2-9]' "$work/named")" 400 \
    '... and each up to 599 that aborts'

# The rows that are not a status: subscriptions and an event of the row's name.
scenes() {	# stdin: name|url|headers|transform
	{
		echo 'create temp table scene (name text, url text,
		    headers text[], transform text);'
		echo "copy scene from stdin with (format csv, delimiter '|',
		    quote '~');"
		awk -F '|' '{ print $1 "|" $2 "|" $3 "|" $4 }'
		echo '\.'
		cat <<-EOT
		with made as (
			insert into webhook_subscriptions (name, url,
			    event_types, headers, transform, retry_ms,
			    timeout_ms)
			select name, url, array[name],
			    coalesce(headers, '{}'), transform, '{900000}',
			    case name when 'worker stopped' then 30000
			    else 800 end
			from scene returning id)
		insert into webhook_secrets (subscription_id, secret)
		select id, '$secret' from made;
		insert into webhook_outbox (event_type, payload)
		select name, to_json(repeat('x', case name
		    when 'request not taken' then 12 << 20
		    when 'payload over 16 MiB' then 16 << 20 else 9 end))
		from scene group by name;
		EOT
	} | psql -X -q -v ON_ERROR_STOP=1 || exit
}

echo '169.254.169.254 inside.example' >"$work/hosts"
scenes <<'EOT'
name not found|http://nosuch.example/
forbidden address|http://inside.example/
EOT
alone
hook-fanout
run $inside hook-deliver
exits 0 'the rest, where there is no network'

listener 'push(@kept, $c)'
scenes <<EOT
not connected|http://127.0.0.1:1/
TLS fails|https://127.0.0.1:$port/
request not taken|http://127.0.0.1:$port/
no answer|$sink/hang
no answer|$sink/close
head cut or too long|$sink/half
head cut or too long|$sink/long
not HTTP|$sink/junk
200, body cut|$sink/cut-200
200, body too slow|$sink/slow-200
200, body too long|$sink/big-200
500, body cut|$sink/cut-500
URL not allowed|ftp://127.0.0.1/
header not allowed|$sink/s/200|{Host,x}
no live secret|$sink/s/200
secret unreadable|$sink/s/200
transform fails|$sink/s/200||error("no")
transform is empty|$sink/s/200||empty
payload over 16 MiB|$sink/s/200
EOT
sql "update webhook_secrets k set
	secret = case name when 'secret unreadable'
	    then 'sealed:v1:' || repeat('A', 80) else secret end,
	expires_at = case name when 'no live secret'
	    then now() - interval '1 s' end
    from webhook_subscriptions s where s.id = subscription_id"
deliver
exits 0 '... and where there is one'

scenes <<EOT
worker stopped|$sink/hang
EOT
hook-fanout
start hook-deliver -f -g 0
wait_for 5 '[ "$(seen /hang)" = 2 ]'
stop
is "$rc" 0 'stopped while a request is under way'

# Each row of the table that is no status has its scene, and came to that.
psql -X -q -A -t -F '|' >"$work/seen" <<'EOT'
select distinct event_type, case state when 'pending' then 'later'
    else state end, attempts, coalesce(last_error, '')
from webhook_deliveries where event_type <> 'status'
EOT
while IFS='|' read -r answer outcome also; do
	case $answer in
	[1-9][0-9][0-9]*body*) ;;
	[1-9]*) continue ;;
	esac
	echo "$answer" >>"$work/played"
	is "$(awk -F '|' -v answer="$answer" -v also="$also" '
	    $1 == answer {
		if (also != "" && index($4, also) == 1)
			$4 = also
		print $2 "|" $3 "|" $4
	    }' "$work/seen" | sort -u)" "$outcome|1|$also" \
	    "$answer: $outcome, $also"
done <"$work/table"
is "$(cut -d '|' -f 1 "$work/seen" | sort -u)" "$(sort "$work/played")" \
    '... and there is no other'
done_testing
