#include <sys/types.h>
#include <sys/stat.h>

#include <fts.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tree.h"

#define FILE_MAX	(1024 * 1024)	/* bytes; no configuration is larger */

static int
file_lines(const char *path, int (*take)(void *, const char *, const char *),
    void *arg)
{
	FILE	*f;
	char	*line = NULL;
	size_t	 cap = 0;
	int	 rc = 0;

	if ((f = fopen(path, "re")) == NULL)
		return -1;
	while (rc == 0 && getline(&line, &cap, f) != -1) {
		line[strcspn(line, "\n")] = '\0';
		rc = take(arg, path, line);
	}
	free(line);
	fclose(f);
	return rc;
}

int
tree_lines(const char *path, int (*take)(void *, const char *, const char *),
    void *arg)
{
	char	*dup = strdup(path), *argv[] = { dup, NULL };
	FTS	*fts;
	FTSENT	*e;
	int	 rc = 0;

	if (dup == NULL || (fts = fts_open(argv, FTS_LOGICAL | FTS_NOCHDIR,
	    NULL)) == NULL) {
		free(dup);
		return -1;
	}
	while (rc == 0 && (e = fts_read(fts)) != NULL) {
		if (e->fts_info == FTS_F && e->fts_statp->st_size <= FILE_MAX)
			rc = file_lines(e->fts_accpath, take, arg);
		else if (e->fts_level == 0 && (e->fts_info == FTS_NS ||
		    e->fts_info == FTS_DNR || e->fts_info == FTS_ERR))
			rc = -1;
		if (rc == -1 && e->fts_level > 0)
			rc = 0;
	}
	fts_close(fts);
	free(dup);
	return rc;
}
