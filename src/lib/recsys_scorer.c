/* Scorers: the scratch that one thread scores with, of one version at a time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/batch.h"
#include "data/parser.h"
#include "lib/recsys_private.h"
#include "train/slot.h"

#define CHUNK      64              /* rows that go through the graph together     */
#define HEAD_LIMIT ((size_t)1 << 20)

struct recsys_scorer {
	struct recsys *of;
	enum recsys_output output;
	struct version *version;       /* one reference                               */
	unsigned long long generation; /* of version                                  */
	struct parser *parser;
	struct parser_layout *layout;  /* NULL: no text was seen                      */
	struct batch batch;
	struct slot_view view;
	struct exec *exec;
	struct buffer head;            /* of the first text, for layouts              */
	float *value;                  /* [capacity]                                  */
	size_t capacity, width;
	struct parser_value *typed;    /* [n_typed] of one row                        */
	size_t n_typed;
};

static enum graph_output
graph_output_of(const struct recsys_scorer *s)
{
	return s->output == RECSYS_USER ? GRAPH_USER
		: s->output == RECSYS_ITEM ? GRAPH_ITEM : GRAPH_LOGIT;
}

/* What depends on the version. */
static void
leave_version(struct recsys_scorer *s)
{
	exec_destroy(s->exec);
	s->exec = NULL;
	slot_view_free(&s->view);
	batch_free(&s->batch);
	memset(&s->batch, 0, sizeof s->batch);
	parser_layout_free(s->layout);
	s->layout = NULL;
	parser_close(s->parser);
	s->parser = NULL;
	version_drop(s->version);
	s->version = NULL;
	s->generation = 0;
}

static enum rs_status
make_layout(struct recsys_scorer *s, const char *text, size_t n, size_t *skip)
{
	size_t lines;

	return parser_layout_make(&s->version->model.schema, PARSE_PREDICT, "text", text, n,
		&s->layout, skip, &lines);
}

static enum rs_status
enter_version(struct recsys_scorer *s)
{
	const enum graph_output output = graph_output_of(s);
	unsigned long long generation;
	size_t skip;

	s->version = recsys_hold(s->of, &generation);
	const struct model *const m = &s->version->model;
	s->width = graph_output_width(m->graph, output);
	if (s->width == 0)
		return rs_fail(RS_EUSAGE, "'%s' has no towers, only a two_tower has",
			m->schema.settings->model.type);
	RS_TRY(parser_open(&m->schema, PARSE_PREDICT, &s->parser));
	parser_keep_bad_rows(s->parser, 1);
	RS_TRY(batch_init(&s->batch, &m->schema));
	RS_TRY(exec_create(m->graph, 0, CHUNK, &s->exec));
	exec_set_output(s->exec, output);
	RS_TRY(slot_view_init(&s->view, m));
	slot_view_set_output(&s->view, output);
	if (s->head.n > 0)
		RS_TRY(make_layout(s, s->head.data, s->head.n, &skip));
	s->generation = generation;
	return RS_OK;
}

/* The version to score with; without a lock as long as it stays. */
static enum rs_status
follow_version(struct recsys_scorer *s)
{
	if (atomic_load_explicit(&s->of->generation, memory_order_acquire) == s->generation)
		return RS_OK;
	leave_version(s);
	const enum rs_status status = enter_version(s);
	if (status != RS_OK)
		leave_version(s);
	return status;
}

int
recsys_scorer_open(struct recsys *model, enum recsys_output output, struct recsys_scorer **out)
{
	struct recsys_scorer *s;

	*out = NULL;
	if ((unsigned)output > RECSYS_ITEM)
		return recsys_return(rs_fail(RS_EUSAGE, "there is no output %d", (int)output));
	enum rs_status status = memory_alloc(1, sizeof *s, &s);
	if (status != RS_OK)
		return recsys_return(status);
	s->of = model;
	s->output = output;
	buffer_init(&s->head, HEAD_LIMIT);
	status = follow_version(s);
	if (status == RS_OK)
		*out = s;
	else
		recsys_scorer_close(s);
	return recsys_return(status);
}

void
recsys_scorer_close(struct recsys_scorer *s)
{
	if (s == NULL)
		return;
	leave_version(s);
	buffer_free(&s->head);
	free(s->value);
	free(s->typed);
	free(s);
}

/* All of them one behind the other, so that the processor looks up several pages at once. */
static void
prefetch_rows(const struct slot_view *v)
{
	for (size_t i = 0; i < v->n_inputs; i++)
		for (size_t j = 0; j < v->n[i]; j++)
			__builtin_prefetch(v->row[i][j]);
}

/* Rows [begin,end) of the batch. */
static enum rs_status
score_chunk(struct recsys_scorer *s, size_t begin, size_t end)
{
	const float *value;

	slot_view_set(&s->view, &s->batch, begin, end);
	RS_TRY(slot_view_pull(&s->view, 0, 0));
	prefetch_rows(&s->view);
	value = exec_forward(s->exec, s->version->model.param, &s->view.feed, 0);
	if (value == NULL)
		return rs_failure()->status;
	memcpy(s->value + begin * s->width, value, (end - begin) * s->width * sizeof *value);
	return RS_OK;
}

/* ALGORITHMS of the logistic loss: p = 1 / (1 + exp(-z)); the rows that were bad are NaN. */
static size_t
finish_rows(struct recsys_scorer *s)
{
	const int is_mse = s->version->model.schema.settings->model.loss == LOSS_MSE;
	const int is_probability = s->output == RECSYS_PREDICTION && !is_mse;
	size_t n_bad = 0;

	for (size_t b = 0; b < s->batch.B; b++) {
		float *const y = s->value + b * s->width;
		const int is_bad = isnan(s->batch.label[b]);

		if (is_probability)
			y[0] = (float)(1 / (1 + exp(-(double)y[0])));
		for (size_t d = 0; is_bad && d < s->width; d++)
			y[d] = NAN;
		n_bad += is_bad != 0;
	}
	return n_bad;
}

static enum rs_status
score_batch(struct recsys_scorer *s, struct recsys_scores *out)
{
	const size_t B = s->batch.B, n = B * s->width;

	if (n > s->capacity) {
		free(s->value);
		s->capacity = 0;
		RS_TRY(memory_alloc(n + n / 4, sizeof *s->value, &s->value));
		s->capacity = n + n / 4;
	}
	RS_TRY(slot_view_reserve(&s->view, &s->batch, CHUNK));
	for (size_t begin = 0; begin < B; begin += CHUNK)
		RS_TRY(score_chunk(s, begin, begin + CHUNK < B ? begin + CHUNK : B));
	const size_t n_bad = finish_rows(s);
	*out = (struct recsys_scores){
		.value = s->value, .n = B, .width = s->width, .version = s->version->number,
	};
	return n_bad == 0 ? RS_OK
		: rs_fail(RS_EPARTIAL, "%zu of %zu rows are bad, the first: %s", n_bad, B,
			parser_warnings(s->parser)->text[0]);
}

/* The first text says what the columns are. */
static enum rs_status
begin_text(struct recsys_scorer *s, const char *text, size_t n, size_t *skip)
{
	*skip = 0;
	if (s->layout != NULL || n == 0)
		return RS_OK;
	RS_TRY(make_layout(s, text, n, skip));
	s->head.n = 0;
	return buffer_append(&s->head, text, n < HEAD_LIMIT / 2 ? n : HEAD_LIMIT / 2);
}

static enum rs_status
score_text(struct recsys_scorer *s, const char *text, size_t n, struct recsys_scores *out)
{
	struct parser_tally tally = { 0 };
	size_t skip;

	RS_TRY(follow_version(s));
	RS_TRY(begin_text(s, text, n, &skip));
	const struct parser_span span = {
		.file = "text", .layout = s->layout, .text = text + skip, .n = n - skip, .line = 1,
	};
	batch_clear(&s->batch);
	if (span.n > 0)
		RS_TRY(parser_parse(s->parser, &span, &s->batch, &tally));
	return score_batch(s, out);
}

int
recsys_score_text(struct recsys_scorer *s, const char *text, size_t n, struct recsys_scores *out)
{
	*out = (struct recsys_scores){ .n = 0 };
	return recsys_return(score_text(s, text, n, out));
}

static enum rs_status
add_row(struct recsys_scorer *s, const struct recsys_row *row)
{
	static const int type[] = {
		[RECSYS_TEXT] = PARSER_TEXT, [RECSYS_INT] = PARSER_INTEGER,
		[RECSYS_NUMBER] = PARSER_NUMBER,
	};

	if (row->n > s->n_typed) {
		free(s->typed);
		s->n_typed = 0;
		RS_TRY(memory_alloc(2 * row->n, sizeof *s->typed, &s->typed));
		s->n_typed = 2 * row->n;
	}
	for (size_t i = 0; i < row->n; i++) {
		const struct recsys_value *const v = &row->value[i];

		if ((unsigned)v->type > RECSYS_NUMBER)
			return rs_fail(RS_EUSAGE, "field '%s': there is no type %d", v->field,
				(int)v->type);
		s->typed[i].field = v->field;
		s->typed[i].type = type[v->type];
		s->typed[i].text = v->text;
		s->typed[i].n = v->n_text;
		s->typed[i].integer = v->integer;
		s->typed[i].number = v->number;
	}
	return parser_add_values(s->parser, s->typed, row->n, &s->batch);
}

static enum rs_status
score_rows(struct recsys_scorer *s, const struct recsys_row *row, size_t n,
	struct recsys_scores *out)
{
	RS_TRY(follow_version(s));
	batch_clear(&s->batch);
	parser_begin_values(s->parser);
	for (size_t i = 0; i < n; i++)
		RS_TRY(add_row(s, &row[i]));
	return score_batch(s, out);
}

int
recsys_score_rows(struct recsys_scorer *s, const struct recsys_row *row, size_t n,
	struct recsys_scores *out)
{
	*out = (struct recsys_scores){ .n = 0 };
	return recsys_return(score_rows(s, row, n, out));
}
