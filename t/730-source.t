#!/bin/sh
# hook-source: sources, their secrets, and what is told of them.
. "${0%/*}/lib.sh"
need_db
printf 'whsec_MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=' >"$work/one"
printf 'whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE=' >"$work/two"
printf 'the w0rd' >"$work/word"
secrets() {
	sql "select count(*) from webhook_source_secrets k
	    join webhook_sources s on s.id = source_id
	    where name = '$1' and (expires_at is null or expires_at > now())"
}

run hook-source add -s standard -k "$work/one" -k "$work/two" -t 10m \
    -u https://example.com/hooks --unpack -m 'a test' -a me shop
exits 0 'a source is added'
is "$(jq -r '[.name, .scheme, .tolerance_s, .public_url, .unpack,
    (.secrets | length)] | map(tostring) | join(" ")' "$work/out")" \
    'shop standard_webhooks 600 https://example.com/hooks true 2' \
    '... and printed'
is "$(grep -c whsec_ "$work/out")" 0 '... without the secrets given'
is "$(sql "select actor, action, object, reason, detail ->> 'scheme'
    from webhook_audit")" 'me|add|source shop|a test|standard_webhooks' \
    '... and written down'
is "$(secrets shop)" 2 '... with both secrets'
is "$(sql "select secret from webhook_source_secrets
    order by created_at desc, id desc limit 1")" "$(cat "$work/one")" \
    '... of which the first is the newest'

run hook-source add -s standard -k "$work/one" shop
exits 65 'a name is for one source'
is "$(cat "$work/err")" 'hook-source: source shop: there is one' \
    '... and that is said'
run hook-source add -s github builds
exits 0 'a source without -k'
like "$(jq -r .secret "$work/out")" '^whsec_' '... gets a secret, printed once'
run hook-source show builds
is "$(jq -r '.secret, .secrets[0].purpose' "$work/out" | xargs)" \
    'null signature' '... and never again'
HOOK_SECRET=fromtheenvironment run hook-source add -s github env
is "$rc $(grep -c 'fromthe' "$work/out") $(sql "select count(*)
    from webhook_source_secrets where secret = 'fromtheenvironment'")" \
    '0 0 1' 'HOOK_SECRET is taken'
hook-source add -s github -k - stdin <"$work/two" >/dev/null
is "$(secrets stdin)" 1 'so is standard input'

# Wrong in one line, and then nothing was changed.
before=$(sql 'table webhook_sources; table webhook_source_secrets')
while IFS='|' read -r code args; do
	# shellcheck disable=SC2086 # several words
	run hook-source $args
	is "$rc $(wc -l <"$work/err")" "$code 1" "refused: $args"
done <<EOT
64|add shop2
64|add -s nonesuch -k $work/one shop2
64|add -s github -k $work/one .hidden
64|add -s github -k $work/one a/b
64|add -s github -k $work/one $(printf %065d 0)
64|add -s github -k $work/one
64|add -s github -k $work/one -t 31d shop2
64|add -s github -k $work/one -t -1 shop2
64|add -s github -k $work/one -u ftp://example.com/ shop2
64|add -s github -k $work/one -u https://example.com/?a=b shop2
64|add -s github -k $work/one -u https://me:pw@example.com/ shop2
64|add -s github -k $work/one --no-unpack shop2
65|add -s github -k $work/none shop2
65|add -s standard -k $work/word shop2
65|add -s discord shop2
64|rotate -g 366d -k $work/two shop
1|rotate -k $work/two nobody
1|set -t off nobody
1|show nobody
1|rm nobody
64|frob
75|list -d host=/nowhere
EOT
is "$(sql 'table webhook_sources; table webhook_source_secrets')" "$before" \
    '... and nothing was changed'
run hook-source rotate -n -k "$work/two" shop
is "$rc $(sql 'table webhook_sources; table webhook_source_secrets' |
    cksum)" "0 $(printf '%s\n' "$before" | cksum)" \
    'a dry run changes nothing'

# Rotation
run hook-source rotate -g 1h -k "$work/two" shop
exits 0 'a secret is rotated'
is "$(jq '[.secrets[] | select(.expires_at == null)] | length' "$work/out") \
$(secrets shop)" '1 3' '... the old ones are good for the grace time'
hook-source rotate -g 0 -k "$work/one" shop >/dev/null
is "$(secrets shop)" 1 '... or not at all'
hook-source rotate -k "$work/two" shop >/dev/null
is "$(sql "select count(*) from webhook_source_secrets k
    join webhook_sources s on s.id = source_id where name = 'shop'")" 2 \
    'what has ended is deleted by the next one'
is "$(hook-source list -o json | jq -r 'select(.name == "shop") |
    (.next_ends_at | type)')" string 'the list says when one ends'

for n in 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do
	hook-source rotate -k "$work/two" shop >/dev/null || exit
done
run hook-source rotate -k "$work/two" shop
is "$rc $(grep -c 'source shop: 16 secrets are taken already, of 16; the' \
    "$work/err") $(secrets shop)" '65 1 16' 'no more than can be kept'
hook-source rotate -g 0 -k "$work/two" shop >/dev/null

# Settings
hook-source set -t off -u '' --no-unpack shop >/dev/null
is "$(sql "select tolerance_s, public_url, unpack from webhook_sources
    where name = 'shop'")" '-1||f' 'settings are changed'
hook-source set -t '' shop >/dev/null
is "$(sql "select tolerance_s is null from webhook_sources
    where name = 'shop'")" t '... and go back to the scheme'
hook-source set -c "$work/word" shop >/dev/null
hook-source set -c "$work/one" shop >/dev/null
is "$(sql "select count(*) from webhook_source_secrets
    where purpose = 'handshake' and (expires_at is null
    or expires_at > now())")" 1 'a word takes the place of the one before'

# At rest
printf '%064d\n' 7 >"$work/key"
chmod 600 "$work/key"
HOOK_KEY_FILE=$work/key hook-source add -s github -k "$work/one" sealed \
    >/dev/null
like "$(sql "select secret from webhook_source_secrets
    order by id desc limit 1")" '^sealed:v1:' 'a secret is sealed'

is "$(hook-source list -o json | jq -r .name | xargs)" \
    'builds env sealed shop stdin' 'the list is by name'
like "$(hook-source list -o table | head -n 1)" '^id +name +scheme' \
    '... or a table'
run hook-source rm -m 'no more' shop
exits 0 'a source is removed'
is "$(sql "select count(*) from webhook_source_secrets k
    where not exists (select from webhook_sources s where s.id = source_id)
    ")$(sql "select reason from webhook_audit where action = 'rm'")" \
    '0no more' '... with its secrets, and that is written down'
is "$(sql "select count(*) from webhook_audit where detail::text ~ 'whsec'
    or detail::text ~ 'w0rd'")" 0 'no secret is in the audit'
done_testing
