'use strict';
/*
 * sign.js: print the header lines that a sender's own package makes.
 *
 *	node sign.js [-i id] [-n unixtime] SCHEME SECRET-FILE BODY-FILE
 *
 * SCHEME is one of official.js.  "node sign.js ... | curl -H @-
 * --data-binary @BODY-FILE URL" is that sender.
 */
const crypto = require('node:crypto');
const fs = require('node:fs');
const { parseArgs } = require('node:util');
const official = require('./official.js');

const { values, positionals } = parseArgs({ allowPositionals: true,
	options: {
		id: { type: 'string', short: 'i' },
		now: { type: 'string', short: 'n' },
	} });
const [scheme, secretFile, bodyFile] = positionals;
if (positionals.length !== 3 || !(scheme in official)) {
	console.error('usage: sign.js [-i id] [-n unixtime] ' +
	    `${Object.keys(official).join('|')} secret-file body-file`);
	process.exit(64);
}
Promise.resolve(official[scheme].sign(fs.readFileSync(bodyFile),
    fs.readFileSync(secretFile, 'utf8').trim(),
    values.id ?? 'msg_' + crypto.randomBytes(12).toString('hex'),
    Number(values.now ?? Math.floor(Date.now() / 1000))))
    .then((lines) => console.log(lines.join('\n')));
