'use strict';
/*
 * official.js: what a sender's own npm package signs and accepts; for
 * sign.js and accept.js.
 *
 *	scheme		package
 *	standard	standardwebhooks
 *	svix		svix (svix-* names)
 *	stripe		stripe
 *	github		@octokit/webhooks-methods
 *
 * sign(body, secret, id, seconds) gives header lines, accept(body, secret,
 * headers) throws where it refuses.  Both may give a promise.  Packages that
 * take text get the body as UTF-8.
 */
exports.standard = {
	sign(body, secret, id, s) {
		const { Webhook } = require('standardwebhooks');
		const sig = new Webhook(secret).sign(id, new Date(s * 1000),
		    body.toString());
		return [`webhook-id: ${id}`, `webhook-timestamp: ${s}`,
		    `webhook-signature: ${sig}`];
	},
	accept(body, secret, h) {
		const { Webhook } = require('standardwebhooks');
		new Webhook(secret).verify(body.toString(), h);
	},
};

exports.svix = {
	sign(body, secret, id, s) {
		const { Webhook } = require('svix');
		const sig = new Webhook(secret).sign(id, new Date(s * 1000),
		    body.toString());
		return [`svix-id: ${id}`, `svix-timestamp: ${s}`,
		    `svix-signature: ${sig}`];
	},
	accept(body, secret, h) {
		const { Webhook } = require('svix');
		new Webhook(secret).verify(body.toString(), h);
	},
};

exports.stripe = {
	sign(body, secret, id, s) {
		const Stripe = require('stripe');
		return ['stripe-signature: ' +
		    Stripe.webhooks.generateTestHeaderString({
			payload: body.toString(), secret, timestamp: s })];
	},
	accept(body, secret, h) {
		const Stripe = require('stripe');
		Stripe.webhooks.constructEvent(body, h['stripe-signature'],
		    secret);
	},
};

exports.github = {
	async sign(body, secret, id) {
		const { sign } = await import('@octokit/webhooks-methods');
		return [`x-github-delivery: ${id}`, 'x-github-event: push',
		    'x-hub-signature-256: ' +
		    await sign(secret, body.toString())];
	},
	async accept(body, secret, h) {
		const { verify } = await import('@octokit/webhooks-methods');
		if (!await verify(secret, body.toString(),
		    h['x-hub-signature-256']))
			throw new Error('refused');
	},
};
