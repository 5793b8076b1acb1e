/*
 * hide.h - take an argument away from ps(1).
 */
#ifndef HIDE_H
#define HIDE_H

/*
 * A copy of an argument, which is overwritten in argv: a conninfo may hold a
 * password.  It lives until the next call.  The argument itself, untouched,
 * without memory.
 */
char	*hide_arg(char *);

#endif /* HIDE_H */
