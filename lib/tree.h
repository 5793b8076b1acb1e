/*
 * tree.h - the lines of a file, or of all files below a folder.
 */
#ifndef TREE_H
#define TREE_H

/*
 * Call take(arg, path, line) for each line, without its end, until it gives
 * something else than 0.  What can't be read below a folder is left out.
 * Returns what take gave last, 0 if it was never called; -1 if path can't be
 * read.
 */
int	 tree_lines(const char *path, int (*take)(void *, const char *,
	    const char *), void *arg);

#endif /* TREE_H */
