#include <string.h>

#include "hide.h"

char *
hide_arg(char *arg)
{
	char	*copy = strdup(arg);

	if (copy == NULL)
		return arg;
	memset(arg, 'x', strlen(arg));
	return copy;
}
