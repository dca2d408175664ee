/*
 * How fast librecsys scores one row: latency of a DeepFM shaped like Criteo's (13 numbers,
 * 26 ids, dim 16, 400x3), against what its matrix-vector products alone take in the same
 * run, as the library multiplies and as cblas_sgemv does.
 *
 *     recsys_rows [CALLS [BUCKETS [N]]]   (default 2000 calls, 20000 buckets a field)
 *
 * One of N rows of a table was trained, by default all; of few, tables are files of rows by id.
 */
#include <cblas.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/rng.h"
#include "base/thread.h"
#include "lib/recsys.h"
#include "tests/embed/touch.h"
#include "train/checkpoint.h"

#define N_ROWS_MADE  4096
#define PRODUCTS_MAX 16
#define GROUP        50                 /* of calls, then as many of the products      */

static const char spec_text[] =
	"[model]\ntype = deepfm\n"
	"[data]\ntrain = t.tsv\nformat = tsv\nheader = no\nlabel = 1\n"
	"[field I1..I13]\ncolumn = 2..14\ntype = numeric\ntransform = log1p\n"
	"[field C1..C26]\ncolumn = 15..40\nbuckets = %ld\n"
	"[embedding]\ndim = 16\n[dnn]\nhidden = 400,400,400\n";

static char directory[] = "/tmp/recsys-rows.XXXXXX";

static enum rs_status
make_model(long buckets, uint64_t n, struct model **out)
{
	const struct model_options options = { .n_threads = 1, .for_training = 1 };
	const struct checkpoint_progress progress = { .best = 0 };
	char text[1024];
	struct spec *spec;

	snprintf(text, sizeof text, spec_text, buckets);
	RS_TRY(spec_load_text(text, "bench", &spec));
	RS_TRY(model_create(spec, &options, out));
	for (size_t t = 0; t < (*out)->n_tables; t++)
		RS_TRY(touch_rows((*out)->lookup, t, &(*out)->table[t], n));
	return checkpoint_save(directory, *out, &progress, 1, NULL, NULL);
}

static enum rs_status
make_rows(struct buffer *text, size_t *line)
{
	buffer_init(text, (size_t)1 << 30);
	for (uint64_t i = 0; i < N_ROWS_MADE; i++) {
		line[i] = text->n;
		for (uint64_t k = 0; k < 13; k++)
			RS_TRY(buffer_printf(text, "%d\t", (int)rng_below(k, i, 1000)));
		for (uint64_t k = 0; k < 26; k++)
			RS_TRY(buffer_printf(text, "%08x%c",
				(unsigned)rng_below(100 + k, i, 100000), k < 25 ? '\t' : '\n'));
	}
	line[N_ROWS_MADE] = text->n;
	return RS_OK;
}

static int
order(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* The products of one row, as the library multiplies, or as plain sgemv. */
struct products {
	const struct kernel_set *kernel;
	struct gemm_args y[PRODUCTS_MAX];
	size_t n;
};

static void
multiply_kernel(void *context)
{
	const struct products *const p = context;

	for (size_t i = 0; i < p->n; i++)
		p->kernel->gemm(&p->y[i]);
}

static void
multiply_blas(void *context)
{
	const struct products *const p = context;

	for (size_t i = 0; i < p->n; i++)
		cblas_sgemv(CblasRowMajor, CblasTrans, (int)p->y[i].k, (int)p->y[i].n, 1,
			p->y[i].b, (int)p->y[i].ldb, p->y[i].a, 1, 0, p->y[i].c, 1);
}

/* Shapes of the model's own graph; of each layer three, of which the first is forward. */
static enum rs_status
make_products(const struct model *m, struct products *p)
{
	struct gemm_args all[3 * PRODUCTS_MAX];
	size_t *N;

	RS_TRY(memory_alloc(graph_n_inputs(m->graph) + 1, sizeof *N, &N));
	const size_t n = graph_gemms(m->graph, 1, N, all, 3 * PRODUCTS_MAX);
	free(N);
	p->kernel = m->kernel;
	for (p->n = 0; p->n < n / 3; p->n++) {
		struct gemm_args *const y = &p->y[p->n];
		float *a, *b, *c;

		*y = all[3 * p->n];
		RS_TRY(memory_alloc(y->k, sizeof *a, &a));
		RS_TRY(memory_alloc(y->k * y->n, sizeof *b, &b));
		RS_TRY(memory_alloc(y->n, sizeof *c, &c));
		for (size_t i = 0; i < y->k * y->n; i++)
			b[i] = (float)rng_normal(7, i) * 0.1f;
		for (size_t i = 0; i < y->k; i++)
			a[i] = (float)rng_normal(8, i);
		y->a = a;
		y->b = b;
		y->c = c;
	}
	return RS_OK;
}

struct calls {
	struct recsys_scorer *scorer;
	struct buffer text;
	size_t line[N_ROWS_MADE + 1], at;
	int code;
};

static void
score(void *context)
{
	struct calls *const c = context;
	struct recsys_scores out;
	const size_t row = c->at++ % N_ROWS_MADE;

	c->code |= recsys_score_text(c->scorer, c->text.data + c->line[row],
		c->line[row + 1] - c->line[row], &out);
}

/* What is measured: calls take turns, GROUP of one behind each other, so that all see the
 * same machine. */
struct work {
	const char *name;
	void (*call)(void *context);
	void *context;
	double *seconds;               /* [n]                                         */
};

/* The first call finds the caches as the others left them, and does not count. */
static void
measure(const struct work *w, size_t begin, size_t end)
{
	w->call(w->context);
	for (size_t i = begin; i < end; i++) {
		const double began = clock_seconds();

		w->call(w->context);
		w->seconds[i] = clock_seconds() - began;
	}
}

static double
report(const struct work *w, size_t n)
{
	qsort(w->seconds, n, sizeof *w->seconds, order);
	const double p50 = w->seconds[n / 2], p99 = w->seconds[n / 100 * 99];

	printf("%-22s p50 %8.2f us  p99 %8.2f us  p99/p50 %.2f\n", w->name, 1e6 * p50,
		1e6 * p99, p99 / p50);
	return p50;
}

static int
bench(struct calls *calls, struct products *products, size_t n)
{
	struct work work[] = {
		{ "products, kernel", multiply_kernel, products, NULL },
		{ "products, cblas_sgemv", multiply_blas, products, NULL },
		{ "recsys_score_text", score, calls, NULL },
	};
	enum { N_WORKS = sizeof work / sizeof work[0] };
	double p50[N_WORKS];

	for (size_t i = 0; i < N_WORKS; i++)
		if (memory_alloc(n, sizeof *work[i].seconds, &work[i].seconds) != RS_OK)
			return 1;
	for (size_t at = 0; at < n; at += GROUP)
		for (size_t i = 0; i < N_WORKS; i++)
			measure(&work[i], at, at + GROUP < n ? at + GROUP : n);
	for (size_t i = 0; i < N_WORKS; i++) {
		p50[i] = report(&work[i], n);
		free(work[i].seconds);
	}
	printf("scoring reaches %.0f %% of its products alone, %.0f %% of cblas_sgemv; %zu calls\n",
		100 * p50[0] / p50[2], 100 * p50[1] / p50[2], n);
	return calls->code;
}

/* MiB of memory that is mapped and was touched, pages of files as well. */
static double
resident(void)
{
	long pages = 0;
	FILE *const f = fopen("/proc/self/statm", "r");

	if (f != NULL && fscanf(f, "%*d %ld", &pages) != 1)
		pages = 0;
	if (f != NULL)
		fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / (1 << 20);
}

static int
run(size_t n, long buckets, uint64_t trained)
{
	static struct calls calls;
	static struct products products;
	struct recsys *model;
	struct model *m;

	if (make_model(buckets, trained, &m) != RS_OK || make_products(m, &products) != RS_OK
	    || make_rows(&calls.text, calls.line) != RS_OK)
		return 1;
	model_free(m);
	const double before = resident(), began = clock_seconds();
	if (recsys_open(directory, &model) != 0
	    || recsys_scorer_open(model, RECSYS_PREDICTION, &calls.scorer) != 0) {
		fprintf(stderr, "%s\n", recsys_error());
		return 1;
	}
	printf("opened in %.1f ms, %.0f MiB more in memory\n", 1e3 * (clock_seconds() - began),
		resident() - before);
	/* Every MiB of a table is compared before the clock runs. */
	for (size_t i = 0; i < N_ROWS_MADE; i++)
		score(&calls);
	return bench(&calls, &products, n);
}

int
main(int argc, char **argv)
{
	const size_t n = argc > 1 ? strtoul(argv[1], NULL, 10) : 2000;
	const long buckets = argc > 2 ? strtol(argv[2], NULL, 10) : 20000;
	const uint64_t trained = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;

	if (mkdtemp(directory) == NULL)
		return 1;
	const int code = run(n, buckets, trained > 0 ? trained : 1);
	file_remove_tree(directory);
	if (code != 0)
		fprintf(stderr, "%s\n", rs_failure()->text);
	return code;
}
