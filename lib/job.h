/*
 * job.h - the statements of a delivery worker, one kind a job: when it has
 * something to do, what it sends, what it makes of the answer.  Inside of
 * store.c's conversation; nobody else calls it.
 */
#ifndef JOB_H
#define JOB_H

#include "store.h"

#define JOB_FLUSH_MS	20	/* an outcome waits so long for company, */
#define JOB_FULL	500	/* or until they are so many */

struct job {
	const struct stmt	*stmt;	/* NULL: not a prepared one */
	/* 1 sent, 0 nothing to do, -1 lost */
	int			(*start)(struct store *, const struct stmt *,
				    int64_t now_ms);
	void			(*done)(struct store *, int64_t now_ms);
	/* Put back what was sent; 1: mended, go on as if nothing was. */
	int			(*failed)(struct store *);
};

extern const struct job	 job_all[];
extern const size_t	 job_count;

/*
 * job_lane.c: leases.  job_rest.c: giving back.  job_page.c: reading.
 * job_done.c: outcomes.
 */
int	 job_tick(struct store *, const struct stmt *, int64_t);
void	 job_ticked(struct store *, int64_t);
int	 job_beat(struct store *, const struct stmt *, int64_t);
void	 job_beaten(struct store *, int64_t);
int	 job_unbeaten(struct store *);
int	 job_claim(struct store *, const struct stmt *, int64_t);
void	 job_claimed(struct store *, int64_t);
int	 job_replan(struct store *, const struct stmt *, int64_t);
void	 job_replanned(struct store *, int64_t);
int	 job_next(struct store *, const struct stmt *, int64_t);
void	 job_nexted(struct store *, int64_t);
int	 job_load(struct store *, const struct stmt *, int64_t);
void	 job_loaded(struct store *, int64_t);
int	 job_orphans(struct store *, const struct stmt *, int64_t);
void	 job_orphaned(struct store *, int64_t);
int	 job_expire(struct store *, const struct stmt *, int64_t);
void	 job_expired(struct store *, int64_t);
int	 job_state(struct store *, const struct stmt *, int64_t);
void	 job_stated(struct store *, int64_t);
int	 job_unstated(struct store *);
int	 job_rest(struct store *, const struct stmt *, int64_t);
void	 job_rested(struct store *, int64_t);
int	 job_unrested(struct store *);
int	 job_earliest(struct store *, const struct stmt *, int64_t);
void	 job_earliested(struct store *, int64_t);

int	 job_page(struct store *, const struct stmt *, int64_t);
int	 job_page_ordered(struct store *, const struct stmt *, int64_t);
void	 job_paged(struct store *, int64_t);
int	 job_unpaged(struct store *);

int	 job_finish(struct store *, const struct stmt *, int64_t);
void	 job_finished(struct store *, int64_t);
int	 job_unfinished(struct store *);
int	 job_body(struct store *, const struct stmt *, int64_t);
void	 job_bodied(struct store *, int64_t);
int	 job_unbodied(struct store *);
int	 job_health(struct store *, const struct stmt *, int64_t);
void	 job_healthy(struct store *, int64_t);
int	 job_unhealthy(struct store *);

struct lane *job_lane(struct store *, int64_t id);
void	 job_forget(struct store *, struct lane *);
/* Begin arrays 0..n-1 of these types, empty. */
void	 job_arrays(struct store *, size_t n, const enum arr_type *);
/* A text or number parameter; the buffer must stay until it is sent. */
#define JOB_TEXT(s)	((struct db_arg){ (s), DB_TEXT })
struct db_arg job_number(char buf[24], int64_t);
/* A bigint or timestamptz of a binary result. */
int64_t	 job_int8(const struct db *, int row, int col);
void	 store_clock(struct store *, int64_t unix_ms);

#endif /* JOB_H */
