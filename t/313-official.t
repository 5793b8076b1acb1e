#!/bin/sh
# The senders' own npm packages: what they sign we accept, what we sign they
# accept, and neither takes what was changed.
. "${0%/*}/lib.sh"
unset HOOK_SECRET
cd "$work" || exit
echo whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw >secret
printf '{"id":"evt_1","object":"event","name":"Zo\303\253 \\u00e9 1.0"}' >body
sed 's/1.0/1.1/' body >changed

for sender in standard svix stripe github; do
	scheme=$sender
	[ $sender != svix ] || scheme=standard
	run node "$top/t/npm/sign.js" $sender secret body
	exits 0 "$sender signs"
	mv out headers
	run hook-verify -s $scheme -k secret -H "$(cat headers)" <body
	cmp -s out body
	exits 0 '... and we accept it'
	run hook-verify -q -s $scheme -k secret -H "$(cat headers)" <changed
	exits 1 '... but no other body'

	hook-sign -s $scheme -k secret <body |
	    sed "$([ $sender = svix ] && echo s/^webhook/svix/)" >headers
	run node "$top/t/npm/accept.js" $sender secret body <headers
	exits 0 "$sender accepts what we sign"
	run node "$top/t/npm/accept.js" $sender secret changed <headers
	exits 1 '... but no other body'
done

done_testing
