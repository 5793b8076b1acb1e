/*
 * log.h - one line an event on standard error, for journald:
 *	level message key=value...
 *
 * level is error, warning, notice or info.  A value with a space, a quote, a
 * backslash, '=' or bytes outside printable ASCII is quoted, and such bytes
 * are written \xNN, so a remote side can't forge a line or drive a terminal.
 * Never pass a secret, a payload or a URL's query.
 */
#ifndef LOG_H
#define LOG_H

enum log_level { LOG_ERROR, LOG_WARNING, LOG_NOTICE, LOG_INFO };

/*
 * log_event(level, message, key, value, ..., NULL): C strings; a NULL value
 * leaves its key out.  A line longer than 4 KiB is cut.
 */
void	 log_event(enum log_level, const char *message, ...)
	    __attribute__((__sentinel__));

#endif /* LOG_H */
