/*
 * jq.h - run a jq program on one payload in a child, without blocking.
 *
 * The child has an empty environment, no file of ours open, bounds on CPU
 * time, memory, wall time and output, writes no file, and (where the kernel
 * has Landlock) reads none but the system's libraries.  Programs that open
 * with import, include or module are refused: the only way jq reads files.
 * jq is HOOK_JQ, or where Debian and others put it.
 *
 * Ownership: a struct jq owns its child and pipes until jq_end().
 * Errors: -1 or JQ_FAILED with a phrase in why, printable ASCII.
 */
#ifndef JQ_H
#define JQ_H

#include <sys/types.h>

#include <stddef.h>
#include <stdint.h>

#include "buf.h"

#define JQ_WALL_MS	2000		/* whole run */
#define JQ_CPU_S	1
#define JQ_MEMORY	(256 << 20)	/* bytes of address space */
#define JQ_PROGRAM_MAX	16384		/* bytes */

enum jq_state { JQ_RUNNING, JQ_DONE, JQ_EMPTY, JQ_FAILED };

struct jq {
	pid_t		 pid;		/* 0: none */
	int		 in, out, err;	/* our ends, or -1; to poll on */
	const char	*input;		/* borrowed until jq_end() */
	size_t		 input_len, input_done;
	struct buf	 output;	/* one JSON text, no newline */
	struct buf	 errors;	/* first 1 KiB */
	int64_t		 deadline_ms;	/* CLOCK_MONOTONIC */
	int		 status;	/* exit status, -1 until it has one */
	char		 why[256];
};

/*
 * Start; input must stay until jq_end(), which is to be called even after
 * -1.  errno is EINVAL where the program is one that is never run; any other
 * failure (no jq, no descriptors) may pass.
 */
int	 jq_start(struct jq *, const char *program, const char *input,
	    size_t len, size_t max_output);

/*
 * Move bytes, reap.  JQ_DONE: output holds the one result.  JQ_EMPTY: the
 * program gave none.  JQ_FAILED: why says what it did.  Never blocks.
 */
enum jq_state jq_step(struct jq *, int64_t now_ms);

/* Kill if it runs, close, free. */
void	 jq_end(struct jq *);

/*
 * Compile a program without running it on anything; blocks <= JQ_WALL_MS.
 * 0; 1 where it is no good; -1 where jq can't be run.
 */
int	 jq_check(const char *program, char *why, size_t whylen);

#endif /* JQ_H */
