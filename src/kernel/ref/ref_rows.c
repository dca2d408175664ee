/* Reference kernels: a step of many rows of a table. */
#include <stddef.h>
#include <string.h>

#include "kernel/ref/ref.h"

/* Runs [begin,middle) and [middle,end), each sorted, to one; ties as they were. */
static void
merge(const struct rows_args *a, size_t begin, size_t middle, size_t end)
{
	uint32_t *const row = a->scratch, *const place = row + a->n;
	size_t i = begin, j = middle;

	for (size_t k = begin; k < end; k++) {
		const int first = i < middle && (j == end || a->row[i] <= a->row[j]);
		const size_t from = first ? i++ : j++;
		row[k] = a->row[from];
		place[k] = a->place[from];
	}
	memcpy(a->row + begin, row + begin, (end - begin) * sizeof(*row));
	memcpy(a->place + begin, place + begin, (end - begin) * sizeof(*place));
}

void
rows_sort_ref(const struct rows_args *a)
{
	for (size_t i = 0; i < a->n; i++)
		a->place[i] = (uint32_t)i;
	for (size_t width = 1; width < a->n; width *= 2)
		for (size_t i = 0; i + width < a->n; i += 2 * width)
			merge(a, i, i + width, i + 2 * width < a->n ? i + 2 * width : a->n);
}

/* g[D] = sum of scale grad over the sorted occurrences [begin,end) */
static void
sum_run(const struct rows_args *a, size_t begin, size_t end, float *g)
{
	for (size_t d = 0; d < a->args.D; d++) {
		double sum = 0;
		for (size_t k = begin; k < end; k++) {
			const size_t i = a->place[k];
			sum += (a->scale == NULL ? 1 : (double)a->scale[i]) * a->grad[i][d];
		}
		g[d] = sum;
	}
}

static void
update_rows(const struct rows_args *a, kernel_row_sgd *update)
{
	for (size_t k = 0, end; k < a->n; k = end) {
		float *const w = a->table + a->row[k] * a->stride;
		for (end = k + 1; end < a->n && a->row[end] == a->row[k]; end++)
			;
		sum_run(a, k, end, a->partial);
		update(w, w + a->args.D, a->partial, &a->args);
	}
}

void
rows_sgd_ref(const struct rows_args *a)
{
	update_rows(a, row_sgd_ref);
}

void
rows_adagrad_ref(const struct rows_args *a)
{
	update_rows(a, row_adagrad_ref);
}

void
rows_rowwise_adagrad_ref(const struct rows_args *a)
{
	update_rows(a, row_rowwise_adagrad_ref);
}

void
rows_adam_ref(const struct rows_args *a)
{
	update_rows(a, row_adam_ref);
}

void
rows_ftrl_ref(const struct rows_args *a)
{
	update_rows(a, row_ftrl_ref);
}
