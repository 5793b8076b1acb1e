'use strict';
/*
 * accept.js: does a sender's own package accept these header lines?
 *
 *	node accept.js SCHEME SECRET-FILE BODY-FILE <HEADER-LINES
 *
 * SCHEME is one of official.js.  Exits 0, or 1 with the package's words.
 */
const fs = require('node:fs');
const official = require('./official.js');

const [scheme, secretFile, bodyFile] = process.argv.slice(2);
if (process.argv.length !== 5 || !(scheme in official)) {
	console.error(`usage: accept.js ${Object.keys(official).join('|')} ` +
	    'secret-file body-file');
	process.exit(64);
}
const h = {};
for (const line of fs.readFileSync(0, 'latin1').split('\n')) {
	const colon = line.indexOf(':');
	if (colon > 0)
		h[line.slice(0, colon).toLowerCase()] =
		    line.slice(colon + 1).trim();
}
Promise.resolve().then(() => official[scheme].accept(
    fs.readFileSync(bodyFile), fs.readFileSync(secretFile, 'utf8').trim(), h))
    .catch((e) => {
	console.error(e.message.split('\n')[0]);
	process.exitCode = 1;
});
