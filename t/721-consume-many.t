#!/bin/sh
# hook-consume --batch and -k: many messages at once, and messages of one key
# one after the other.
. "${0%/*}/lib.sh"
need_db
none={}
sql "insert into webhook_sources (name, scheme) values ('s', 'github')"

put() {		# MESSAGE-ID [BODY]
	psql -X -q -v ON_ERROR_STOP=1 -v id="$1" -v body="${2-$none}" <<-'EOT'
	insert into webhook_inbox (source, message_id, body)
	values ('s', :'id', convert_to(:'body', 'UTF8'));
	EOT
}
many() {	# PREFIX N [KEYS]: bodies {"n":N,"k":N mod KEYS}
	sql "insert into webhook_inbox (source, message_id, body)
	    select 's', '$1' || n, convert_to(json_build_object('n', n, 'k',
	    n % ${3-1})::text, 'UTF8') from generate_series(1, $2) n"
}
states() {	# PREFIX
	sql "select state, count(*) from webhook_inbox
	    where message_id like '$1%' group by 1 order by 1" | xargs
}
consume() {
	run timeout 60 hook-consume -s s "$@"
}
now_due() {
	sql "update webhook_inbox set next_attempt_at = now()
	    where state = 'pending' and owner is null"
}

# A batch is lines of JSON.
put j1 '{ "a" : 1.0,
"big": 1e131072, "\u0000": 1 }'
sql "insert into webhook_inbox (source, message_id, event_type, body, headers)
    values ('s', 'raw', 'x.y', '\\x00ff',
	array['Content-Type', 'a/b', 'X-Q', 'say \"']),
    ('s', 'text', null, 'hello', '{}')"
consume --batch 5 -- sh -c 'cat; env | grep HOOK_ | grep -v ALLOW >&2'
is "$rc $(states %)" '0 done|3' 'a batch is acked at once'
is "$(grep -v TEST "$work/err" | sort | xargs)" 'HOOK_BATCH=3 HOOK_SOURCE=s' \
    '... and knows its size'
is "$(sed 1q "$work/out" | sed 's/.*"body"://')" \
    '{ "a" : 1.0, "big": 1e131072, "\u0000": 1 }}' \
    '... JSON is kept, in one line'
is "$(sed -n 2p "$work/out" | jq -c '[.id > 0, .source, .message_id,
    .event_type, .attempt, .headers, .body_base64, has("body")]')" \
    '[true,"s","raw","x.y",1,{"content-type":"a/b","x-q":"say \""},"AP8=",false]' \
    '... what is none is base64'
is "$(sed -n 3p "$work/out" | jq -r '.body_base64, .event_type')" 'aGVsbG8=
null' '... text, too'

many m 250
consume --batch 100 -- sh -c 'wc -l'
is "$rc $(xargs <"$work/out") $(states m)" '0 100 100 50 done|250' \
    'batches are as large as they may be'

# One bad message among many fails alone.
many p 100
cat >"$work/poison" <<EOT
#!/bin/sh
cat >"$work/batch.\$\$"
! grep -q '"message_id":"p37"' "$work/batch.\$\$" || exit 1
jq -r .message_id "$work/batch.\$\$" >>"$work/handled"
EOT
chmod +x "$work/poison"
consume --batch 100 -j 2 -- "$work/poison"
is "$rc $(states p)" '0 done|99 pending|1' 'one that fails costs no other'
is "$(sort "$work/handled" | uniq -d | wc -l) $(wc -l <"$work/handled")" \
    '0 99' '... and none is acked twice'
is "$(sql "select failures, last_error from webhook_inbox
    where message_id = 'p37'")" '1|exit status 1' '... it has its failure'
ls "$work"/batch.* | wc -l >"$work/runs"
[ "$(cat "$work/runs")" -lt 20 ]
check "... and few runs were needed ($(cat "$work/runs"))"
many q 10
rm "$work"/batch.*
now_due
consume --batch 100 -- "$work/poison"
is "$(states q) $(wc -l "$work"/batch.* | awk '{ print $1 }' | sort |
    xargs)" 'done|10 1 10 11' 'the next time it is alone'
many u 5
consume --batch 5 -- sh -c 'exit 75'
is "$(states u) $(sql "select distinct failures, attempts from webhook_inbox
    where message_id like 'u%'")" 'pending|5 0|1' '75 is again later, for all'
sql "delete from webhook_inbox"
many e 20
consume --batch 10 -e -- jq -c '{event_type: "e", payload: .body}'
is "$rc $(states e) $(sql "select count(*), min(payload::text)
    from webhook_outbox")" '0 done|20 20|{"n":1,"k":0}' \
    '-e: the events of a batch are committed with its ack'
many f 10
consume --batch 10 -e -- jq -c 'if .body.n == 4 then "bad" else
    {event_type: "f", payload: .body} end'
is "$rc $(states f) $(sql "select count(*) from webhook_outbox
    where event_type = 'f'")" '0 done|9 pending|1 9' \
    '... a bad line of one costs no other'

# Keys.  The handler notes when it began and ended.
cat >"$work/note" <<EOT
#!/bin/sh
read -r body
k=\${body##*: }
k=\${k%\}}
exec 9>>"$work/log"
echo "+ \$k \$HOOK_INBOX_ID" >&9
rc=0
[ ! -e "$work/fail.\$HOOK_MESSAGE_ID" ] ||
    rc=\$(cat "$work/fail.\$HOOK_MESSAGE_ID")
sleep 0.0\$((HOOK_INBOX_ID % 5))
echo "- \$k \$HOOK_INBOX_ID" >&9
exit \$rc
EOT
chmod +x "$work/note"
overlaps() {	# begun before the one before it of its key ended, or after
	awk '$1 == "+" { if ($2 in open || $3 < last[$2]) bad++
		open[$2]; last[$2] = $3 }
	    $1 == "-" { delete open[$2] }
	    END { print bad + 0 }' "$work/log"
}
sql "delete from webhook_inbox"
many k 120 7
for i in 1 2 3; do
	timeout 90 hook-consume -s s -k '$.k' -j 4 -- "$work/note" \
	    2>"$work/err.$i" &
	them="${them-} $!"
done
# shellcheck disable=SC2086
wait $them
is "$(states k) $(cat "$work"/err.*)" 'done|120 ' '-k: three consumers'
is "$(overlaps) $(grep -c + "$work/log")" '0 120' \
    '... no two of a key at once, and in order'
sql "select count(distinct order_key) from webhook_inbox" >"$work/n"
is "$(cat "$work/n")" 7 '... by the key in the body'

: >"$work/log"
many h 20 4
echo 75 >"$work/fail.h1"
echo 1 >"$work/fail.h2"
consume -k '$.k' -j 4 -- "$work/note"
is "$rc $(states h)" '0 done|10 pending|10' \
    'a message that is tried again later holds up its key, and no other'
is "$(overlaps)" 0 '... in order'
rm "$work/fail.h1"
now_due
consume -k '$.k' -j 4 -- "$work/note"
is "$(states h)" 'done|15 pending|5' '... until it is done'
now_due
consume -k '$.k' -j 4 -- "$work/note"
is "$(states h) $(overlaps)" 'dead|1 done|19 0' \
    '... or dead: then the key goes on'
sql "update webhook_inbox set state = 'pending', finished_at = null
    where state = 'dead' or message_id = 'h6'"
rm "$work/fail.h2"
: >"$work/log"
consume -k '$.k' -j 4 -- "$work/note"
is "$(states h) $(overlaps)" 'done|20 0' 'one that is put back comes first'

# A body that has no key, or none that can be looked for.
sql "delete from webhook_inbox"
for b in '{}' 'hello' '{"k":null}' '{"k":"\u0000"}' '{"k":1e131072}' '[]' ''; do
	put "none-$b" "$b"
done
sql "insert into webhook_inbox (source, message_id, body)
    values ('s', 'none-bytes', '\\xff7b7d'),
	('s', 'none-deep', convert_to(repeat('[', 100000), 'UTF8'))"
put key-string '{"k":"a"}'
put key-object '{"k":{"b":2, "a":1}}'
put key-long "{\"k\":\"$(head -c 9000 /dev/zero | tr '\0' x)\"}"
consume -k '$.k' -j 9 -- true
is "$rc $(states %)" '0 done|12' 'strange bodies are handled'
is "$(sql "select order_key, count(*) from webhook_inbox
    where message_id like 'none-%' group by 1")" '|9' '... and have no key'
is "$(sql "select order_key from webhook_inbox where message_id in
    ('key-string', 'key-object') order by id")" '"a"
{"a": 1, "b": 2}' '... a key is any JSON'
like "$(sql "select order_key from webhook_inbox
    where message_id = 'key-long'")" '^md5:[0-9a-f]{32}$' '... however long'
sql "delete from webhook_inbox"
many b 700 100
consume -k '$.k' --batch 50 -- sh -c 'jq -c .body.k | sort | uniq -d'
is "$rc $(states b) $(cat "$work/out")" '0 done|700 ' \
    'in a batch each key is there once'

done_testing
