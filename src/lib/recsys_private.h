/*
 * What the files of the library share.
 */
#ifndef LIB_RECSYS_PRIVATE_H
#define LIB_RECSYS_PRIVATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/status.h"
#include "lib/recsys.h"
#include "lib/version.h"

struct recsys {
	char *path;
	pthread_mutex_t lock;          /* around current                              */
	pthread_mutex_t reload;        /* one reload at a time                        */
	struct version *current;       /* one reference                               */
	atomic_ullong generation;      /* grows with every other current              */
};

/* The present version with a reference of the caller's, and its generation. */
struct version *recsys_hold(struct recsys *model, unsigned long long *generation);
/* The code of a call that ended so. */
int recsys_return(enum rs_status status);

#endif
