#!/bin/sh
# The tests' own tools: a throwaway cluster, a scripted server, libraries that
# verify, and words that fail when they should.
. "${0%/*}/lib.sh"

# pg-tmp
run pg-tmp run work_mem=123kB -- sh -c \
    'psql -XAtc "show work_mem"; psql -XAt -h 127.0.0.1 -c "select 1"; exit 7'
exits 7 'pg-tmp run exits as the command did'
is "$(xargs <"$work/out")" '123kB 1' \
    '... with settings, a socket and a loopback port'
eval "$(pg-tmp start "$work/pg" max_prepared_transactions=3)"
pid=$(head -n 1 "$work/pg/data/postmaster.pid")
is "$(sql 'show max_prepared_transactions')" 3 'pg-tmp start makes a cluster'
is "$(PGPASSWORD=wrong psql -XAt -h 127.0.0.1 -c 'select 1' 2>&1 |
    grep -c 'password authentication failed')" 1 \
    '... that strangers on this machine cannot enter'
run pg-tmp start "$work/pg"
exits 64 'a folder holds one cluster'
mkdir "$work/bin"
PG_BIN=$work/bin run pg-tmp start "$work/other"
exits 69 'a folder without a server is said to be'
printf '#!/bin/sh\necho mine\nexit 1\n' >"$work/bin/initdb"
chmod 755 "$work/bin" "$work/bin/initdb"
PG_BIN=$work/bin run pg-tmp start "$work/other"
is "$rc $(head -n 1 "$work/err")" '70 mine' \
    '... PG_BIN names whose initdb is run'
PG_BIN=bin run pg-tmp start "$work/other"
exits 64 '... in full'
pg-tmp stop "$work/pg" -m immediate
run sql 'select 1'
exits 2 'stop -m immediate stops it'
pg-tmp go "$work/pg"
is "$(sql 'select 1')" 1 '... go starts it again'
pid=$(head -n 1 "$work/pg/data/postmaster.pid")
kill -9 "$pid"
run pg-tmp remove "$work/pg"
exits 0 'remove works on one that was killed'
is "$(ls "$work/pg" 2>/dev/null)" '' '... and leaves nothing'
unset PGHOST PGPORT PGUSER PGDATABASE PGPASSWORD

# The sink
sink <<-'EOT'
	/s 1-2 status 503 | header Retry-After: 1 | body no\x00
	/s * status 204
	/id id1 status 500
	/id id2- status 201
	/drip * drip 20 body | body 12345
	/raw * raw HTTP/1.1 299 Odd\r\n\r\n
	/rst * rst
	/cut * length 10 | body 123 | then close
	/early * early | status 413
	/inter * interim 103 3 | body x
	/used * reused | close
EOT
get() {		# ARG...: status, bytes and curl's exit code
	curl -s -m 5 -o "$work/body" -w '%{http_code} %{size_download} ' "$@"
	echo $?
}
is "$(for _ in 1 2 3; do get -d x "$sink/s"; done | xargs)" \
    '503 3 0 503 3 0 204 0 0' 'the sink answers by occurrence'
is "$(for id in a b a b; do
	get -d x -H "webhook-id: $id" "$sink/id"
done | xargs)" '500 0 0 500 0 0 201 0 0 201 0 0' '... and by webhook-id'
printf 'a\000b\r\n' >"$work/odd"
get --data-binary @"$work/odd" "$sink/t" >/dev/null
n=$(awk '$1 == "in" && $5 == "/t" { print $2 }' "$sink_dir/log")
cmp "$sink_dir/$n.body" "$work/odd"
check '... keeps bodies byte for byte'
like "$(head -n 1 "$sink_dir/$n.head")" '^POST /t HTTP/1.1' '... and heads'
start_us=$(date +%s%6N)
is "$(get -d x "$sink/drip")" '200 5 0' '... drips'
[ $(($(date +%s%6N) - start_us)) -ge 80000 ]
check '... slowly'
is "$(get -d x "$sink/raw")" '299 0 0' '... sends raw bytes'
is "$(get -d x "$sink/rst")" '000 0 56' '... resets'
is "$(get -d x "$sink/cut")" '200 3 18' '... cuts a body short'
head -c 3000000 /dev/zero >"$work/zeros"
like "$(get -H Expect: --data-binary @"$work/zeros" "$sink/early")" '^413 ' \
    '... answers before the body came'
is "$(get -d x "$sink/inter")" '200 1 0' '... sends interim answers'
is "$(get -d x "$sink/t" --next -s -d x "$sink/used" | wc -w)" 3 \
    '... tells a used connection from a new one'
for _ in 1 2 3; do
	get -d x "$sink/s" >/dev/null
done
is "$(curl -s "$sink/_stats" | grep '^/s ')" '/s 6 1 0' '... and counts'
is "$(curl -s -d '/s * bogus' "$sink/_rules")" '/s * bogus' \
    '... refuses a bad rule'
curl -s -d '/s 1 status 418' "$sink/_rules"
is "$(get -d x "$sink/s")" '418 0 0' '... and takes new ones'
stop "$sink_pid"
is "$(grep '^/s ' "$sink_dir/stats")" '/s 1 1 0' '... and says so at the end'

# The verifiers, on the example of the Standard Webhooks specification.
sink_dir=$work/requests
mkdir "$sink_dir"
echo whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw >"$work/secret"
printf '{"test": 2432232314}' >"$sink_dir/1.body"
signed='v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE='
printf '%s\r\n' 'POST / HTTP/1.1' 'webhook-id: msg_p5jXN8AQM9LWM0D4loKWxJek' \
    'webhook-timestamp: 1614265330' "webhook-signature: $signed" '' \
    >"$sink_dir/1.head"
at() {		# TIME
	run node "$top/t/npm/verify.js" -n "$1" "$sink_dir/1.head" \
	    "$sink_dir/1.body" "$work/secret"
}
at 1614265330
exits 0 'the libraries accept a published signature'
is "$(cat "$work/out")" 'ok standardwebhooks svix' '... both of them'
at 1614265931
exits 1 '... not ten minutes later'
printf '{"test": 2432232315}' >"$sink_dir/1.body"
at 1614265330
exits 1 '... and not of another body'
verify "$work/secret"
is "$rc $(grep -c '^bad' "$work/out")" '1 1' '... of many, each gets a line'

# check, twice at once, where npm is still at work when the second one comes.
tree=$work/tree
mkdir -p "$tree/scripts" "$tree/t/npm" "$tree/bin"
cp "$top/scripts/check" "$tree/scripts"
: >"$tree/t/npm/package-lock.json"
printf '#!/bin/sh\necho >>started\n' >"$tree/scripts/deps"
printf '#!/bin/sh\nexit 1\n' >"$tree/bin/make"
cat >"$tree/bin/npm" <<-'EOT'
	#!/bin/sh
	mkdir node_modules || exit
	i=0
	until [ "$(wc -l <../../started)" = 2 ] || [ $i = 500 ]; do
		sleep 0.02
		i=$((i + 1))
	done
	touch node_modules/.package-lock.json
EOT
chmod +x "$tree/scripts/deps" "$tree/bin/make" "$tree/bin/npm"
usual=$PATH
PATH=$tree/bin:$PATH
start "$tree/scripts/check"
first=$pid
start "$tree/scripts/check"
PATH=$usual
stop "$pid" 0
is "$rc" 70 'two checks at once: the second waits for npm of the first'
stop "$first" 0
is "$rc" 70 '... and both go on to build'

# The words themselves, each where it must say no.
cat >"$work/words.t" <<-EOT
	set -- "$top/t/x"
	. "$top/t/lib.sh"
	run false; exits 0 a
	is 1 2 b
	like abc ^b c
	false; check d
	wait_for 0 false e
	wait_for 0 false
	echo report >"\$work/sanitizer.1"
	done_testing
EOT
sed "s|\${0%/\*}/..|$top|" "$top/t/lib.sh" >"$work/lib.sh"
sed -i "s|\"$top/t/lib.sh\"|\"$work/lib.sh\"|" "$work/words.t"
run sh "$work/words.t"
is "$(grep -c '^not ok' "$work/out") $(tail -n 1 "$work/out")" '7 1..7' \
    'every word of lib.sh can fail'

done_testing
