/* buf: holds what it was given, never more than its ceiling. */
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "buf.h"
#include "tap.h"

static void
text(void)
{
	struct buf	 b = BUF_INIT(10);
	int		 rc;

	ok(b.s == NULL && b.len == 0, "an empty buffer owns nothing");
	rc = buf_add(&b, "", 0);
	ok(rc == 0 && b.len == 0 && b.s != NULL && *b.s == '\0',
	    "nothing added is an empty string");
	rc = buf_adds(&b, "12345");
	rc |= buf_addf(&b, "%d%s", 67, "8");
	rc |= buf_add(&b, "\0z", 2);
	ok(rc == 0 && b.len == 10 && memcmp(b.s, "12345678\0z", 11) == 0,
	    "text, format and bytes follow each other, and a NUL ends them");

	errno = 0;
	ok(buf_add(&b, "x", 1) == -1 && errno == EFBIG, "one byte more does "
	    "not fit");
	errno = 0;
	ok(buf_addf(&b, "%s", "x") == -1 && errno == EFBIG,
	    "... nor formatted");
	ok(b.len == 10 && memcmp(b.s, "12345678\0z", 11) == 0,
	    "... and what was there stays");
	ok(buf_room(&b, 0) == 0, "no room for nothing is room enough");
	errno = 0;
	ok(buf_room(&b, SIZE_MAX) == -1 && errno == EFBIG,
	    "a length near SIZE_MAX does not wrap");

	buf_reset(&b);
	ok(b.len == 0 && *b.s == '\0' && buf_adds(&b, "0123456789") == 0,
	    "reset makes all of the room free again");
	buf_free(&b);
	ok(b.s == NULL && b.len == 0 && buf_adds(&b, "again") == 0,
	    "a freed buffer is usable");
	buf_wipe(&b);
	ok(b.s == NULL && b.len == 0, "a wiped buffer is empty");
	buf_free(&b);
	buf_wipe(&b);
	ok(b.s == NULL, "freeing twice is safe");
}

static void
growth(void)
{
	struct buf	 b = BUF_INIT(100000);
	size_t		 i, bad = 0;
	int		 rc = 0;

	for (i = 0; i < 100000; i++)
		rc |= buf_add(&b, &"abcdefghijklmnopqrstuvwxyz"[i % 26], 1);
	for (i = 0; i < b.len; i++)
		bad += b.s[i] != (char)('a' + i % 26);
	ok(rc == 0 && b.len == 100000 && bad == 0 && b.s[b.len] == '\0',
	    "byte by byte up to the ceiling keeps every byte");
	ok(b.cap <= 100001, "no more is allocated than the ceiling needs");
	buf_free(&b);
}

/* A descriptor to read these bytes from. */
static int
source(const char *s, size_t n)
{
	int	 fd[2];

	if (pipe(fd) == -1 || write(fd[1], s, n) != (ssize_t)n)
		abort();
	close(fd[1]);
	return fd[0];
}

static void
reading(void)
{
	struct buf	 b = BUF_INIT(4);
	int		 fd, rc;

	fd = source("", 0);
	ok(buf_readall(&b, fd) == 0 && b.len == 0 && *b.s == '\0',
	    "an empty input is an empty string");
	close(fd);
	fd = source("a\0bc", 4);
	ok(buf_readall(&b, fd) == 0 && b.len == 4 &&
	    memcmp(b.s, "a\0bc", 5) == 0, "an input of max bytes is read");
	close(fd);
	buf_reset(&b);
	fd = source("12345", 5);
	errno = 0;
	rc = buf_readall(&b, fd);
	ok(rc == -1 && errno == EFBIG, "one byte more is too big");
	ok(b.len == 4 && strcmp(b.s, "1234") == 0, "... what fitted is kept");
	close(fd);
	errno = 0;
	ok(buf_readall(&b, -1) == -1 && errno == EBADF,
	    "a bad descriptor is read(2)'s error");
	errno = 0;
	ok(buf_readfile(&b, "/nonexistent") == -1 && errno == ENOENT,
	    "a missing file is open(2)'s");
	errno = 0;
	buf_reset(&b);
	ok(buf_readfile(&b, "/") == -1 && errno == EISDIR,
	    "a directory is no file");
	buf_free(&b);
}

static void
files(void)
{
	struct buf	 b = BUF_INIT(1 << 20);
	char		 path[] = "/tmp/hook-buf-XXXXXX";
	char		*big = malloc(300000);
	int		 fd = mkstemp(path), rc, sock[2];

	if (big == NULL || fd == -1)
		abort();
	memset(big, 'y', 300000);
	if (write(fd, big, 300000) != 300000)
		abort();
	close(fd);
	rc = buf_adds(&b, "x");
	rc |= buf_readfile(&b, path);
	ok(rc == 0 && b.len == 300001 && b.s[0] == 'x' &&
	    memcmp(b.s + 1, big, 300000) == 0,
	    "a file is appended, whatever its size");
	/* A socket, for one, can be read but not opened. */
	rc = socketpair(AF_UNIX, SOCK_STREAM, 0, sock);
	rc |= write(sock[1], "here", 4) != 4 || close(sock[1]) == -1 ||
	    dup2(sock[0], STDIN_FILENO) == -1 || close(sock[0]) == -1;
	buf_reset(&b);
	ok(rc == 0 && buf_readfile(&b, "-") == 0 && strcmp(b.s, "here") == 0,
	    "- is standard input, as it is open");
	fd = open("/dev/null", O_RDONLY);
	ok(fd != -1 && fd == open("/dev/null", O_RDONLY) - 1,
	    "no descriptor is left open");
	unlink(path);
	free(big);
	buf_free(&b);
}

int
main(void)
{
	text();
	growth();
	reading();
	files();
	return done_testing();
}
