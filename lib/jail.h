/*
 * jail.h - start a program that can do nothing but compute.
 *
 * It has an empty environment, / as its directory, a session of its own, no
 * descriptor but its 0, 1 and 2, limits on CPU time and memory, may write no
 * file, and, where the kernel has Landlock, opens none but the program itself
 * and what is under the system's library directories.  It dies with us.
 *
 * Started with vfork(2), since a sender's memory is large and this happens
 * once a delivery; up to its exec the child only makes system calls.
 *
 * Errors: -1 with errno.
 */
#ifndef JAIL_H
#define JAIL_H

#include <sys/types.h>

#include <stddef.h>

#define JAIL_NO_EXEC	127	/* exit status: it could not be started */

/*
 * Start the program at path.  fd becomes our ends of its stdin, stdout and
 * stderr, not blocking; stdin is a socket, so that send(2) with MSG_NOSIGNAL
 * to a child that left gives an error.  The process group is its pid.
 */
pid_t	 jail_start(const char *path, char *const argv[], unsigned int cpu_s,
	    size_t memory, int fd[3]);

/* Kill the group and reap; what waitpid(2) gives as status. */
int	 jail_end(pid_t);

#endif /* JAIL_H */
