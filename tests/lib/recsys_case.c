/* The model and rows of the tests of the library. */
#include "recsys_case.h"

#include <math.h>
#include <string.h>

#include "tests/embed/touch.h"
#include "tests/test.h"

#include "base/memory.h"
#include "base/rng.h"
#include "data/parser.h"
#include "train/checkpoint.h"
#include "train/workers.h"

#define NEAR 2e-5

#define FIELDS(a, b, m, x) \
	"[field a]\ncolumn = " a "\nbuckets = 3000\n" \
	"[field b]\ncolumn = " b "\nbuckets = 500\nid_type = int\n" \
	"[field m]\ncolumn = " m "\ntype = multi\nbuckets = 90\n" \
	"[field x]\ncolumn = " x "\ntype = numeric\ntransform = log1p\n" \
	"[embedding]\ndim = 4\ninit_stddev = 0.5\n"

static const char numbered_text[] =
	"[data]\ntrain = t.tsv\nformat = tsv\nheader = no\nlabel = 1\n" FIELDS("2", "3", "4", "5");
static const char named_text[] =
	"[data]\ntrain = t.tsv\nformat = tsv\nheader = yes\nlabel = click\n"
	FIELDS("user", "age", "tags", "price");
static const char header[] = "user\tage\ttags\tprice\n";
static const char deepfm_text[] =
	"[model]\ntype = deepfm\n"
	"[linear]\ninit_stddev = 0.5\n"
	"[dnn]\nhidden = 16,8\nbatch_norm = yes\ndropout = 0.2\n";
static const char towers_text[] =
	"[model]\ntype = two_tower\n"
	"[tower user]\nfields = a,m\nhidden = 16,8\n"
	"[tower item]\nfields = b,x\nhidden = 12,8\n"
	"[two_tower]\ntemperature = 0.5\n";

/* What a case is made from. */
struct recipe {
	const char *data, *model;      /* halves of the spec                          */
	const char *header;            /* of the text                                 */
	const char *set;               /* or NULL                                     */
	uint64_t touched;              /* one of so many rows was, or about           */
};

static void
make_text(struct recsys_case *c, const char *first)
{
	struct buffer text;

	buffer_init(&text, (size_t)1 << 20);
	assert_int_equal(buffer_append(&text, first, strlen(first)), RS_OK);
	for (uint64_t i = 0; i < RECSYS_CASE_ROWS; i++) {
		c->line[i] = text.n;
		assert_int_equal(buffer_printf(&text, "u%d\t%d\t%s\t%d\n",
			(int)rng_below(1, i, 2000), (int)rng_below(2, i, 400),
			i % 3 ? "k1|k2|k3" : i % 2 ? "k9" : "", (int)rng_below(3, i, 50)), RS_OK);
	}
	c->line[RECSYS_CASE_ROWS] = text.n;
	c->text = text.data;
	c->n = text.n;
}

/* What the trainer says of all rows. */
static void
predict(struct recsys_case *c, struct model *m, size_t version)
{
	struct parser_tally tally = { 0 };
	struct parser_span span = { .file = "case", .text = c->text, .n = c->n, .line = 1 };
	struct parser_layout *layout;
	struct parser *parser;
	struct workers *workers;
	struct batch batch;
	size_t skip, lines;

	assert_int_equal(parser_layout_make(&m->schema, PARSE_PREDICT, "case", c->text, c->n,
		&layout, &skip, &lines), RS_OK);
	span.layout = layout;
	assert_int_equal(parser_open(&m->schema, PARSE_PREDICT, &parser), RS_OK);
	assert_int_equal(batch_init(&batch, &m->schema), RS_OK);
	span.text += skip;
	span.n -= skip;
	assert_int_equal(parser_parse(parser, &span, &batch, &tally), RS_OK);
	assert_int_equal(batch.B, RECSYS_CASE_ROWS);
	assert_int_equal(workers_create(m, 1, &workers), RS_OK);
	assert_int_equal(workers_predict(workers, &batch, c->logit[version], NULL), RS_OK);
	c->dim = model_vector_dim(m);
	for (int tower = 0; tower < 2 && c->dim > 0; tower++) {
		float **const v = &c->vector[version][tower];

		*v = calloc(RECSYS_CASE_ROWS * c->dim, sizeof **v);
		assert_non_null(*v);
		assert_int_equal(workers_vectors(workers, tower, &batch, *v), RS_OK);
	}
	workers_free(workers);
	batch_free(&batch);
	parser_close(parser);
	parser_layout_free(layout);
}

static void
save_version(struct recsys_case *c, const struct recipe *r, uint64_t seed)
{
	const struct model_options options = { .n_threads = 1, .for_training = 1 };
	const struct checkpoint_progress progress = { .best = 0 };
	char number[8], text[1024], *key, *value;
	struct spec *spec;
	struct model *m;
	uint64_t version;

	snprintf(text, sizeof text, "%s%s", r->data, r->model);
	assert_int_equal(spec_load_text(text, "case", &spec), RS_OK);
	snprintf(number, sizeof number, "%d", (int)seed);
	assert_int_equal(spec_set(spec, "train", "seed", number), RS_OK);
	if (r->set != NULL) {
		snprintf(text, sizeof text, "%s", r->set);
		key = strchr(text, '.');
		value = strchr(text, '=');
		*key++ = *value++ = '\0';
		assert_int_equal(spec_set(spec, text, key, value), RS_OK);
	}
	assert_int_equal(model_create(spec, &options, &m), RS_OK);
	for (size_t t = 0; t < m->n_tables; t++)
		assert_int_equal(touch_rows(m->lookup, t, &m->table[t], r->touched), RS_OK);
	predict(c, m, seed);
	assert_int_equal(
		checkpoint_save(c->directory, m, &progress, seed == 1, &version, NULL), RS_OK);
	assert_int_equal(version, seed);
	model_free(m);
}

static struct recsys_case *
make(const struct recipe *r)
{
	struct recsys_case *const c = calloc(1, sizeof *c);

	assert_non_null(c);
	snprintf(c->directory, sizeof c->directory, "/tmp/recsys-case.XXXXXX");
	assert_non_null(mkdtemp(c->directory));
	make_text(c, r->header);
	for (uint64_t version = 1; version <= 2; version++)
		save_version(c, r, version);
	return c;
}

struct recsys_case *
recsys_case_make(const char *set)
{
	return make(&(struct recipe){ numbered_text, deepfm_text, "", set, 1 });
}

struct recsys_case *
recsys_case_make_sparse(const char *set)
{
	return make(&(struct recipe){ numbered_text, deepfm_text, "", set, 7 });
}

struct recsys_case *
recsys_case_make_named(void)
{
	return make(&(struct recipe){ named_text, deepfm_text, header, NULL, 1 });
}

struct recsys_case *
recsys_case_make_towers(void)
{
	return make(&(struct recipe){ numbered_text, towers_text, "", NULL, 1 });
}

void
recsys_case_free(struct recsys_case *c)
{
	file_remove_tree(c->directory);
	for (size_t version = 1; version <= 2; version++)
		for (size_t tower = 0; tower < 2; tower++)
			free(c->vector[version][tower]);
	free(c->text);
	free(c);
}

void
recsys_case_name(const struct recsys_case *c, uint64_t version)
{
	assert_int_equal(checkpoint_set_current(c->directory, version), RS_OK);
}

const char *
recsys_case_file(const struct recsys_case *c, uint64_t version, const char *name)
{
	static char path[256];

	snprintf(path, sizeof path, "%s/v%06d/%s", c->directory, (int)version, name);
	return path;
}

struct recsys *
recsys_case_open(const struct recsys_case *c)
{
	struct recsys *m;

	if (recsys_open(c->directory, &m) != RECSYS_OK)
		fail_msg("%s", recsys_error());
	return m;
}

struct recsys_scorer *
recsys_case_scorer(struct recsys *m, enum recsys_output output)
{
	struct recsys_scorer *s;

	if (recsys_scorer_open(m, output, &s) != RECSYS_OK)
		fail_msg("%s", recsys_error());
	return s;
}

int
recsys_case_near(float x, float y)
{
	return fabs((double)x - (double)y) <= NEAR * (1 + fabs((double)y));
}

int
recsys_case_is_right(const struct recsys_case *c, enum recsys_output output, size_t row,
	const struct recsys_scores *scores)
{
	const size_t width = output == RECSYS_LOGIT ? 1 : c->dim;
	const float *const want = output == RECSYS_LOGIT ? c->logit[scores->version]
		: c->vector[scores->version][output - RECSYS_USER];

	if (scores->width != width)
		return 0;
	for (size_t i = 0; i < scores->n * width; i++)
		if (!recsys_case_near(scores->value[i], want[row * width + i]))
			return 0;
	return 1;
}

int
recsys_case_line(const struct recsys_case *c, struct recsys_scorer *s, size_t i,
	struct recsys_scores *out)
{
	return recsys_score_text(s, c->text + c->line[i], c->line[i + 1] - c->line[i], out);
}

void
recsys_case_end(struct recsys_case *c, struct recsys *m, struct recsys_scorer *s)
{
	recsys_scorer_close(s);
	recsys_close(m);
	recsys_case_free(c);
}
