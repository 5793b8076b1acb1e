#include <stdlib.h>
#include <string.h>

#include "hide.h"

char *
hide_arg(char *arg)
{
	static char	*copy;

	free(copy);
	if ((copy = strdup(arg)) == NULL)
		return arg;
	memset(arg, 'x', strlen(arg));
	return copy;
}
