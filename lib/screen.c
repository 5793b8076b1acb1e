#include <sys/ioctl.h>

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "screen.h"

#define ROWS	24	/* of a terminal that does not say */
#define COLUMNS	80

static struct termios		 before;
static sigset_t			 unblocked;
static int			 is_open;
static volatile sig_atomic_t	 resized;

static void	 cut(const char *, int, int);

static void
on_resize(int sig)
{
	(void)sig;
	resized = 1;
}

int
screen_open(void)
{
	struct sigaction	 sa;
	struct termios		 t;

	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO) ||
	    tcgetattr(STDIN_FILENO, &before) == -1)
		return 0;
	memset(&sa, 0, sizeof(sa));
	sigemptyset(&sa.sa_mask);
	sa.sa_handler = on_resize;
	sigaction(SIGWINCH, &sa, NULL);
	/* It comes while we wait, so that none is missed just before. */
	sigaddset(&sa.sa_mask, SIGWINCH);
	sigprocmask(SIG_BLOCK, &sa.sa_mask, &unblocked);
	t = before;
	t.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
	t.c_cc[VMIN] = 1;
	t.c_cc[VTIME] = 0;
	if (tcsetattr(STDIN_FILENO, TCSANOW, &t) == -1)
		return 0;
	is_open = 1;
	/* The other screen; no cursor. */
	fputs("\033[?1049h\033[?25l", stdout);
	return 1;
}

void
screen_close(void)
{
	if (!is_open)
		return;
	is_open = 0;
	fputs("\033[?25h\033[?1049l", stdout);
	fflush(stdout);
	tcsetattr(STDIN_FILENO, TCSANOW, &before);
}

int
screen_draw(const char *text)
{
	struct winsize	 w = { 0 };

	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == -1 || w.ws_row == 0 ||
	    w.ws_col == 0) {
		w.ws_row = ROWS;
		w.ws_col = COLUMNS;
	}
	fputs("\033[H", stdout);
	cut(text, w.ws_row, w.ws_col);
	fputs("\033[J", stdout);
	return fflush(stdout) == EOF ? -1 : 0;
}

/* Lines, each cleared to its end; the last row is left free of a newline. */
static void
cut(const char *text, int rows, int columns)
{
	const char	*end;
	int		 row, col;

	for (row = 0; row < rows && *text != '\0'; row++) {
		if (row > 0)
			putchar('\n');
		end = text + strcspn(text, "\n");
		for (col = 0; text < end; text++) {
			/* What goes on a character begins with two bits. */
			if (((unsigned char)*text & 0xc0) != 0x80 &&
			    ++col > columns)
				break;
			putchar(*text);
		}
		fputs("\033[K", stdout);
		text = end + (*end == '\n');
	}
}

int
screen_wait(int ms)
{
	struct pollfd	 p = { .fd = STDIN_FILENO, .events = POLLIN };
	struct timespec	 ts = { ms / 1000, ms % 1000 * 1000000L };
	char		 c;

	if (ppoll(&p, 1, &ts, &unblocked) == -1 && errno != EINTR)
		return -1;
	if (resized) {
		resized = 0;
		return 'r';
	}
	if (p.revents == 0)
		return 0;
	if (read(STDIN_FILENO, &c, 1) != 1 || c == 'q')
		return 'q';
	return 'r';
}
