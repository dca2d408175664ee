/* The library's models: opened, reloaded, and what went wrong. */
#include "lib/recsys_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/memory.h"

static _Thread_local char error_text[sizeof(struct rs_failure)];

const char *
recsys_error(void)
{
	return error_text;
}

int
recsys_return(enum rs_status status)
{
	const struct rs_failure *const f = rs_failure();

	error_text[0] = '\0';
	if (status != RS_OK)
		snprintf(error_text, sizeof error_text, "%s%s%s%s%s%s", f->where,
			f->where[0] != '\0' ? ": " : "", f->text, f->hint[0] != '\0' ? " (" : "",
			f->hint, f->hint[0] != '\0' ? ")" : "");
	return rs_exit_code(status);
}

static enum rs_status
open_current(const char *path, uint64_t unlike, struct version **out)
{
	char *directory;
	uint64_t number;

	*out = NULL;
	RS_TRY(version_find(path, &number, &directory));
	const enum rs_status status =
		number != unlike ? version_open(directory, out) : RS_OK;
	free(directory);
	return status;
}

int
recsys_open(const char *path, struct recsys **out)
{
	struct recsys *m;

	*out = NULL;
	log_set_level(LOG_ERROR);      /* a library does not print warnings */
	enum rs_status status = memory_alloc(1, sizeof *m, &m);
	if (status != RS_OK)
		return recsys_return(status);
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_init(&m->reload, NULL);
	atomic_init(&m->generation, 1);
	status = memory_strdup(path, &m->path);
	if (status == RS_OK)
		status = open_current(path, 0, &m->current);
	if (status == RS_OK)
		*out = m;
	else
		recsys_close(m);
	return recsys_return(status);
}

void
recsys_close(struct recsys *m)
{
	if (m == NULL)
		return;
	version_drop(m->current);
	pthread_mutex_destroy(&m->lock);
	pthread_mutex_destroy(&m->reload);
	free(m->path);
	free(m);
}

uint64_t
recsys_version(struct recsys *m)
{
	pthread_mutex_lock(&m->lock);
	const uint64_t number = m->current->number;
	pthread_mutex_unlock(&m->lock);
	return number;
}

struct version *
recsys_hold(struct recsys *m, unsigned long long *generation)
{
	pthread_mutex_lock(&m->lock);
	struct version *const v = m->current;
	version_hold(v);
	*generation = atomic_load_explicit(&m->generation, memory_order_relaxed);
	pthread_mutex_unlock(&m->lock);
	return v;
}

static struct version *
exchange(struct recsys *m, struct version *next)
{
	pthread_mutex_lock(&m->lock);
	struct version *const former = m->current;
	m->current = next;
	atomic_fetch_add_explicit(&m->generation, 1, memory_order_release);
	pthread_mutex_unlock(&m->lock);
	return former;
}

int
recsys_reload(struct recsys *m, int *changed)
{
	struct version *next = NULL;

	pthread_mutex_lock(&m->reload);
	const enum rs_status status = open_current(m->path, m->current->number, &next);
	if (changed != NULL)
		*changed = next != NULL;
	if (next != NULL)
		version_drop(exchange(m, next));
	pthread_mutex_unlock(&m->reload);
	return recsys_return(status);
}
