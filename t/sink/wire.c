/* wire.c: bytes in and out of a connection, plain or TLS. */
#include <sys/socket.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <errno.h>
#include <poll.h>

#include "sink.h"

static ssize_t
result(SSL *ssl, int n, int want)
{
	if (n > 0)
		return n;
	return SSL_get_error(ssl, n) == want ? -1 : 0;
}

ssize_t
wire_read(int fd, SSL *ssl, char *to, size_t len)
{
	ssize_t	 n;

	if (ssl != NULL) {
		ERR_clear_error();
		return result(ssl, SSL_read(ssl, to, (int)len),
		    SSL_ERROR_WANT_READ);
	}
	n = recv(fd, to, len, 0);
	return n == -1 && errno != EAGAIN && errno != EINTR ? 0 : n;
}

ssize_t
wire_write(int fd, SSL *ssl, const char *from, size_t len)
{
	ssize_t	 n;

	if (ssl != NULL) {
		ERR_clear_error();
		return result(ssl, SSL_write(ssl, from, (int)len),
		    SSL_ERROR_WANT_WRITE);
	}
	n = send(fd, from, len, MSG_NOSIGNAL);
	return n == -1 && errno != EAGAIN && errno != EINTR ? 0 : n;
}

int
wire_shake(SSL *ssl, short *want)
{
	int	 n;

	ERR_clear_error();
	if ((n = SSL_accept(ssl)) == 1)
		return 1;
	switch (SSL_get_error(ssl, n)) {
	case SSL_ERROR_WANT_READ:
		*want = POLLIN;
		return 0;
	case SSL_ERROR_WANT_WRITE:
		*want = POLLOUT;
		return 0;
	default:
		return -1;
	}
}
