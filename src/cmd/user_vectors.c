/* The vectors of rows by the tower of users. */
#include "cmd/user_vectors.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cmd/scorer.h"

#define THREADS_MAX 4096
#define TEXT_LIMIT  (SIZE_MAX / 4)
#define N_FILES     64

static enum rs_status
reserve(struct user_vectors *u, size_t n, size_t D)
{
	size_t capacity = u->capacity > 0 ? u->capacity : 1024;

	if (n <= u->capacity)
		return RS_OK;
	while (capacity < n)
		capacity *= 2;
	float *const vector = reallocarray(u->vector, capacity, D * sizeof *vector);
	if (vector != NULL)
		u->vector = vector;
	uint64_t *const end = reallocarray(u->end, capacity, sizeof *end);
	if (end != NULL)
		u->end = end;
	if (vector == NULL || end == NULL)
		return rs_fail(RS_ERESOURCE, "out of memory for %zu vectors", capacity);
	u->capacity = capacity;
	return RS_OK;
}

static enum rs_status
add_rows(struct user_vectors *u, struct scorer *s, const struct scorer_rows *rows)
{
	const size_t D = model_vector_dim(scorer_model(s)), B = rows->batch->B;
	const struct parser_ids *const ids = rows->ids;

	RS_TRY(reserve(u, u->n + B, D));
	RS_TRY(workers_vectors(scorer_workers(s), TOWER_USER, rows->batch, u->vector + u->n * D));
	for (size_t b = 0; b < B; b++) {
		if (ids != NULL && b < ids->n)
			RS_TRY(buffer_append(&u->text, ids->text + ids->begin[b],
				ids->end[b] - ids->begin[b]));
		else
			RS_TRY(buffer_printf(&u->text, "%" PRIu64, rows->first + b + 1));
		u->end[u->n++] = u->text.n;
	}
	return RS_OK;
}

static enum rs_status
add_all(struct user_vectors *u, struct scorer *s)
{
	struct scorer_rows rows;

	RS_TRY(scorer_next(s, &rows));
	while (rows.batch->B > 0) {
		RS_TRY(add_rows(u, s, &rows));
		RS_TRY(scorer_next(s, &rows));
	}
	return RS_OK;
}

enum rs_status
user_vectors_make(const struct arguments *a, struct user_vectors *out)
{
	const char *file[N_FILES];
	struct scorer *s;
	int64_t threads = 0;
	size_t n = 0;

	*out = (struct user_vectors){ 0 };
	buffer_init(&out->text, TEXT_LIMIT);
	RS_TRY(argument_int(a, "--threads", 0, THREADS_MAX, &threads));
	while (argument_nth(a, "--users", n) != NULL) {
		if (n == N_FILES)
			return rs_fail(RS_EUSAGE, "--users: more than %d", N_FILES);
		file[n] = argument_nth(a, "--users", n);
		n++;
	}
	const struct scorer_options options = { .model = a->positional[0], .data = file,
		.n_data = n, .purpose = PARSE_PREDICT, .id = argument(a, "--id"),
		.without_scores = 1, .n_threads = (size_t)threads };
	RS_TRY(scorer_open(&options, &s));
	const enum rs_status status = add_all(out, s);
	scorer_close(s);
	return status;
}

void
user_vectors_free(struct user_vectors *u)
{
	free(u->vector);
	free(u->end);
	buffer_free(&u->text);
	*u = (struct user_vectors){ 0 };
}
