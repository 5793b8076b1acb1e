/*
 * screen.h - a terminal that is drawn anew, like top's.
 *
 * Errors: -1 with errno.  The plain escapes of every terminal emulator are
 * used, and its own settings are put back by screen_close().
 */
#ifndef SCREEN_H
#define SCREEN_H

#include <stddef.h>

/* Take over the terminal, if standard input and output are one: 1, else 0. */
int	 screen_open(void);
void	 screen_close(void);

/* Draw text from the top, cut to the screen's size. */
int	 screen_draw(const char *text);

/*
 * Wait so long, or until a signal: 'q' when that was pressed (or the input
 * ended), 'r' when the size has changed or another key was pressed, else 0.
 */
int	 screen_wait(int ms);

#endif /* SCREEN_H */
