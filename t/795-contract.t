#!/bin/sh
# hook-contract(7): its programs are run on real requests, and its figures
# are those of the code.
. "${0%/*}/lib.sh"
. "${0%/*}/wire.sh"
need_db
page=$top/man/hook-contract.7
mkdir "$work/ex"
cd "$work/ex" || exit

# The page's programs, each below a comment that names its file.
awk '
/^\.\\" file / { file = $3; next }
file != "" && /^\.Bd/ { copying = 1; next }
/^\.Ed/ { copying = 0; file = ""; next }
copying {
	gsub(/\\&/, ""); gsub(/\\\(aq/, "\047"); gsub(/\\\(ga/, "`")
	gsub(/\\\(ha/, "^"); gsub(/\\\(ti/, "~"); gsub(/\\e/, "\\")
	print >file
}' "$page"
is "$(echo *)" "Verify.java send.sh verify.go verify.js verify.php\
 verify.py verify.rb verify.sh" 'the page has a program for each language'

# Genuine requests: one secret; and two, while one replaces the other.
body='{"n": 1.0, "text": "\u0000 \u00e9 é / \\ ^~`", "big": 1e400,"k":1,"k":2 }'
sink <<'EOT'
EOT
sub plain "$sink/plain"
sub turned "$sink/turned"
event plain "$body"
cp "$work/secret" "$work/old"
hook-sub rotate "$sub" | jq -r .secret >"$work/new"
event turned "$body"
deliver
is "$rc $(seen /plain) $(seen /turned)" '0 1 1' '(two requests are made)'
echo whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE= >"$work/other"
take() {	# NAME PATH: the last request there, as NAME.head and NAME.body
	n=$(awk -v p="$2" '$1 == "in" && $5 == p { n = $2 } END { print n }' \
	    "$sink_dir/log")
	sed 1d "$sink_dir/$n.head" | tr -d '\r' | grep . >"$1.head"
	cp "$sink_dir/$n.body" "$1.body"
}
take plain /plain
take turned /turned
is "$(grep -i '^webhook-signature: ' turned.head | wc -w)" 3 \
    '(one of them has two signatures)'

# name STATUS SECRET: what is to be said of NAME.head and NAME.body.
cat >cases <<'EOF'
plain 0 old
turned 0 old
turned 0 new
turned 1 other
plain 1 new
flipped 1 old
longer 1 old
stale 1 old
early 1 old
recent 0 old
no-id 1 old
no-timestamp 1 old
no-signature 1 old
not-v1 1 old
others 0 old
cut 1 old
EOF
made() {	# NAME SECONDS: the plain request, signed that long ago
	id=$(sed -n 's/^webhook-id: //pI' plain.head)
	hook-sign -s standard -k "$work/old" -i "$id" \
	    -N $(($(date +%s) - $2)) <plain.body >"$1.head"
	cp plain.body "$1.body"
}
altered() {	# NAME sed-script: the plain request with another head
	sed "$2" plain.head >"$1.head"
	cp plain.body "$1.body"
}
made stale 400
made early -400
made recent 200
altered flipped ''
printf '{"TYPE' | dd of=flipped.body conv=notrunc 2>/dev/null
altered longer ''
echo >>longer.body
for h in id timestamp signature; do
	altered no-$h "/^webhook-$h:/Id"
done
altered not-v1 's/^\(webhook-signature: \)v1/\1v2/I'
altered others 's/^\(webhook-signature: \)/\1v1a,AAAA v1, v2 /I'
altered cut 's/^\(webhook-signature: .*\)==*$/\1/I'

judge() {	# LANGUAGE command...
	language=$1
	shift
	while read -r name want secret; do
		rm -rf inbox
		WEBHOOK_SECRET=$(cat "$work/$secret")
		export WEBHOOK_SECRET
		run timeout 60 "$@" "$name.head" "$name.body"
		[ "$rc" = "$want" ] || {
			echo "$name, secret $secret: $rc, not $want"
			head -n 3 "$work/err"
		}
		case $want$(cat "$work/out") in
		0new)	cmp -s "$name.body" inbox/evt_* ||
			    echo "$name: not kept as it came" ;;
		0*)	echo "$name: $(cat "$work/out")" ;;
		1)	[ ! -e inbox ] || echo "$name: kept" ;;
		esac
	done <cases >verdicts
	is "$(cat verdicts)" '' \
	    "$language: good requests are taken, and no other"
	rm -rf inbox
	WEBHOOK_SECRET=$(cat "$work/old")
	for i in 1 2; do
		"$@" plain.head plain.body
	done >twice
	is "$(xargs <twice)" 'new had it already' '... and each once'
}

# What is not on the machine can't be run.  Go and Java are compiled first,
# since each start would do it again.
has() {
	command -v "$1" >/dev/null ||
	    { note "no $1 here: its program is not run"; return 1; }
}
judge shell sh verify.sh
! has python3 || judge Python python3 verify.py
! has node || judge Node node verify.js
! has php || judge PHP php verify.php
! has ruby || judge Ruby ruby verify.rb
if has go; then
	export GOCACHE="$BUILD/go" GO111MODULE=off CGO_ENABLED=0
	run timeout 300 go build -o verify-go verify.go
	exits 0 'the Go program compiles'
	judge Go ./verify-go
fi
if has javac; then
	run timeout 120 javac -Xlint:all -Werror Verify.java
	exits 0 'the Java program compiles'
	judge Java java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -cp . Verify
fi

printf '{"type":"test"}' >test.body
run sh send.sh "$sink/sent" test.body
is "$rc $(cat "$work/out" "$work/err")" '0 200' \
    'curl sends a request, and prints the status'
take sent /sent
hook-verify -s standard -k "$work/old" -q -H "$(grep -i ^webhook-id: \
    sent.head)" -H "$(grep -i ^webhook-timestamp: sent.head)" \
    -H "$(grep -i ^webhook-signature: sent.head)" <sent.body
check '... that is signed as ours are'
is "$(cat sent.body)" "$(cat test.body)" '... and has the body as it is'

# The figures.
column() {	# NAME: of webhook_subscriptions, its default
	sql "select pg_get_expr(adbin, adrelid) from pg_attrdef d
	    join pg_attribute a on attrelid = adrelid and attnum = adnum
	    where adrelid = 'webhook_subscriptions'::regclass
	    and attname = '$1'" | sed "s/^'//; s/'::.*//"
}
define() {	# NAME FILE
	echo $(($(sed -n "s/^#define $1[ 	]*\([0-9 *()]*\).*/\1/p" \
	    "$top/$2")))
}
says() {	# ROW VALUE
	like "$(sed -n '/^\.Ss 6/,/^\.Ss 7/p' "$page" | grep -F ".It $1")" \
	    "Ta $2\$" "the page says so: $1, $2"
}
says 'name looked up, connected, TLS agreed on' \
    "$(($(define SEND_CONNECT_MS lib/send.h) / 1000)) seconds"
says 'the whole request, with your answer' \
    "$(($(column timeout_ms) / 1000)) seconds"
says 'head of your answer' "$(($(define SEND_HEAD_MAX lib/send.h) / 1024)) KiB"
says 'body of your answer that is read' \
    "$(($(define SEND_BODY_MAX lib/send.h) / 1024)) KiB"
says 'Li data No of an event, at most' \
    "$(($(define MAX_PAYLOAD_DEFAULT lib/opt.c) / 1024)) KiB"
says 'requests at once, at most' "$(column max_concurrency)"
says 'signature older or newer than' "$(hook-verify -l |
    jq -r 'select(.scheme == "standard_webhooks") | .tolerance_s') seconds"
says 'old and new secret sign for' "$(sql "select round(extract(epoch from
    expires_at - now()) / 3600) from webhook_secrets
    where expires_at is not null") hours"
says 'ids are to be remembered for' \
    "$(sed -n 's/^#define REMEMBER_MS.*(\([0-9]*\) \* DAY_MS)/\1/p' \
    "$top/lib/keep.c") days"
says 'events can be replayed for' \
    "$(sed -n 's/.*k->ms\[i\] = \([0-9]*\) \* DAY_MS;/\1/p' \
    "$top/lib/keep.c") days"
text=$(mandoc -T ascii "$page" | col -bx | tr -s ' \n\t' ' ')
says_text() {	# TEXT
	case $text in
	*"$1"*)	ok 0 "the page says so: $1" ;;
	*)	ok 1 "the page should say: $1" ;;
	esac
}
words() {	# milliseconds...
	for ms; do
		s=$((ms / 1000))
		if [ $((s % 3600)) = 0 ]; then
			echo "$((s / 3600)) hours"
		elif [ $((s % 60)) = 0 ]; then
			echo "$((s / 60)) minutes"
		else
			echo "$s seconds"
		fi
	done
}
pauses=$(column retry_ms | tr -d '{}' | tr , ' ')
# shellcheck disable=SC2086 # several words
says_text "$(words $pauses | paste -sd , | sed 's/,/, /g')"
says_text "each give or take $(sed -n 's/^#define JITTER.*0\.\([0-9]\).*/\10/p' \
    "$top/lib/retry.c") %, and a last one $(words "$(column deadline_ms)")"
says_text "After $(define RETRY_BREAKER_AFTER lib/retry.h) failures in a row"
probe() {
	words "$(sed -n "s/^#define $1.*INT64_C(\([0-9]*\)).*/\1/p" \
	    "$top/lib/retry.c")"
}
says_text "after $(probe PROBE_FIRST_MS), then twice as long each time,\
 $(probe PROBE_MAX_MS) at most"
says_text "After $(($(define DISABLE_AFTER_S lib/lane.c) / 86400)) days\
 without one success"

# A table of statuses as lines "STATUS outcome": of the page and of
# hook-deliver(1), which t/410-statuses.t makes happen.
statuses() {	# FILE
	awk '/^\.It [2-5][0-9][0-9][-, 0-9]* Ta / {
		sub(/^\.It /, "")
		split($0, part, " Ta ")
		n = split(part[1], range, ", *")
		what = part[2] (part[3] ~ /^(\\&)?$/ ? "" : ": " part[3])
		for (i = 1; i <= n; i++) {
			if (split(range[i], end, "-") == 1)
				end[2] = end[1]
			for (s = end[1]; s <= end[2] && s < 600; s++)
				print s, what
		}
	}' "$1" | sort
}
statuses "$page" | sed 's/: redirects.*//' >theirs
statuses "$top/man/hook-deliver.1" | sed -e 's/ later$/ again/' \
    -e 's/ later: holds the lane/ again, and nothing else meanwhile/' \
    -e 's/ failed$/ not again/' \
    -e 's/ failed: disables the.*/ not again, and the subscription ends/' \
    >ours
is "$(wc -l <ours)" 400 'hook-deliver(1) has each status from 200 to 599'
cmp -s ours theirs
check '... and the page says the same of each' || note "$(diff ours theirs)"

done_testing
