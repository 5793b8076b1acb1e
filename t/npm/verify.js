'use strict';
/*
 * verify.js: do libraries that are not ours accept these requests?
 *
 *	node verify.js [-n unixtime] HEAD BODY SECRET-FILE	one request
 *	node verify.js [-n unixtime] -				many: such lines on stdin
 *
 * HEAD holds a request's head as it came, BODY its body, SECRET-FILE a
 * whsec_... secret or, for ed25519, a whpk_... public key.  A line a request:
 *
 *	ok standardwebhooks svix
 *	bad standardwebhooks: No matching signature found; svix: ...
 *
 * Neither package knows ed25519, so a whpk_ key is checked with node:crypto
 * by the words of the Standard Webhooks specification: "ok node:crypto".
 * -n sets the clock.  Exits 0 if all are ok, else 1.
 */
const crypto = require('node:crypto');
const fs = require('node:fs');
const standardwebhooks = require('standardwebhooks');
const svix = require('svix');

function headers(file) {
	const h = {};
	const lines = fs.readFileSync(file, 'latin1').split('\r\n').slice(1);
	for (const line of lines) {
		const colon = line.indexOf(':');
		if (colon < 1)
			continue;
		const name = line.slice(0, colon).toLowerCase();
		if (name in h)
			throw new Error(`two ${name} headers`);
		h[name] = line.slice(colon + 1).trim();
	}
	return h;
}

function ed25519(key, body, h) {
	const id = h['webhook-id'], t = h['webhook-timestamp'];
	if (Math.abs(Date.now() / 1000 - Number(t)) > 300)
		throw new Error('timestamp too old or too new');
	const raw = Buffer.from(key.slice('whpk_'.length), 'base64');
	const pub = crypto.createPublicKey({ format: 'jwk', key: {
		kty: 'OKP', crv: 'Ed25519', x: raw.toString('base64url') } });
	const signed = Buffer.concat([Buffer.from(`${id}.${t}.`), body]);
	for (const s of (h['webhook-signature'] || '').split(' '))
		if (s.startsWith('v1a,') && crypto.verify(null, signed, pub,
		    Buffer.from(s.slice(4), 'base64')))
			return;
	throw new Error('no matching signature');
}

function verify(head, body, secretFile) {
	const payload = fs.readFileSync(body);
	const secret = fs.readFileSync(secretFile, 'utf8').trim();
	const good = [], bad = [];
	const check = (name, f) => {
		try {
			f();
			good.push(name);
		} catch (e) {
			bad.push(`${name}: ${e.message}`);
		}
	};
	let h = {};
	try {
		h = headers(head);
	} catch (e) {
		return `bad ${e.message}`;
	}
	if (secret.startsWith('whpk_')) {
		check('node:crypto', () => ed25519(secret, payload, h));
	} else {
		check('standardwebhooks', () =>
		    new standardwebhooks.Webhook(secret).verify(payload, h));
		check('svix', () =>
		    new svix.Webhook(secret).verify(payload, h));
	}
	return bad.length ? `bad ${bad.join('; ')}` : `ok ${good.join(' ')}`;
}

let args = process.argv.slice(2);
if (args[0] === '-n') {
	const now = Number(args[1]) * 1000;
	Date.now = () => now;
	args = args.slice(2);
}
const jobs = args[0] === '-' ? fs.readFileSync(0, 'utf8').split('\n')
    .filter((line) => line).map((line) => line.split(' ')) : [args];
if (jobs.some((j) => j.length !== 3)) {
	console.error('usage: verify.js [-n unixtime] head body secret | -');
	process.exit(64);
}
let worst = 0;
for (const j of jobs) {
	const says = verify(...j);
	if (!says.startsWith('ok'))
		worst = 1;
	console.log(says);
}
process.exitCode = worst;
