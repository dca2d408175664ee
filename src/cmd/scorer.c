/* Scores data rows in the order of the files. */
#include "cmd/scorer.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/thread.h"
#include "cmd/model_files.h"
#include "data/source.h"
#include "train/checkpoint.h"

#define PIECE ((size_t)1 << 20)        /* bytes of text scored together            */

struct scorer {
	struct scorer_options options;
	struct model *model;
	struct workers *workers;
	struct spec *spec;                 /* of the model, with the id column         */
	struct schema schema;
	struct parser *parser;
	struct batch batch;
	float *logit;                      /* [capacity]                               */
	size_t capacity;
	struct text_list patterns, files;
	struct parser_tally tally;
	size_t n_warned;
	uint64_t unseen[2], n_rows;

	size_t file;                       /* next of files                            */
	struct source *source;
	struct parser_layout *layout;
	struct buffer text;                /* [begin, n) not yet parsed                */
	size_t begin;
	uint64_t line, offset;             /* of text[begin]                           */
	int at_end;
	uint64_t drop;                     /* bytes of a row too long, UINT64_MAX:
	                                      up to the next newline                  */
};

static enum rs_status
find_column(struct scorer *s, const char **out)
{
	const struct settings *settings = spec_settings(s->spec);

	for (size_t i = 0; i < settings->n_fields; i++)
		if (strcmp(settings->field[i].name, s->options.field) == 0) {
			*out = settings->field[i].column;
			return RS_OK;
		}
	const char **names;
	RS_TRY(memory_alloc(settings->n_fields + 1, sizeof *names, &names));
	for (size_t i = 0; i < settings->n_fields; i++)
		names[i] = settings->field[i].name;
	const char *near = spec_nearest(s->options.field, names, settings->n_fields);
	free(names);
	rs_fail(RS_EUSAGE, "the model has no field '%s'", s->options.field);
	return near != NULL ? rs_hint("did you mean '%s'?", near) : RS_EUSAGE;
}

static enum rs_status
set_spec(struct scorer *s)
{
	const char *column = s->options.id;

	if (s->options.field != NULL)
		RS_TRY(find_column(s, &column));
	if (column != NULL)
		RS_TRY(spec_set(s->spec, "data", "id", column));
	if (s->options.purpose == PARSE_PREDICT)
		RS_TRY(spec_set(s->spec, "data", "on_bad_row", "fail"));
	return RS_OK;
}

static enum rs_status
open_model(struct scorer *s)
{
	const char *why;
	const size_t n = s->options.n_threads > 0 ? s->options.n_threads : thread_auto_count(&why);
	const struct model_options options = { .n_threads = n };
	uint64_t at, version;
	char *directory;

	RS_TRY(model_files_resolve(s->options.model, &directory, &at));
	enum rs_status status = checkpoint_load(directory, at, &options, &s->model, NULL, &version);
	if (status == RS_OK)
		status = checkpoint_spec(directory, at == CHECKPOINT_HERE ? at : version, &s->spec);
	free(directory);
	RS_TRY(status);
	return workers_create(s->model, n, &s->workers);
}

static enum rs_status
expand_files(struct scorer *s)
{
	RS_TRY(memory_alloc(s->options.n_data + 1, sizeof *s->patterns.item, &s->patterns.item));
	for (size_t i = 0; i < s->options.n_data; i++, s->patterns.n++)
		RS_TRY(memory_strdup(s->options.data[i], &s->patterns.item[i]));
	return source_expand(&s->patterns, &s->files.item, &s->files.n);
}

static enum rs_status
open_all(struct scorer *s)
{
	RS_TRY(expand_files(s));
	RS_TRY(open_model(s));
	RS_TRY(set_spec(s));
	RS_TRY(schema_build(spec_settings(s->spec), &s->schema));
	s->schema.predicts_groups = s->options.with_groups;
	RS_TRY(batch_init(&s->batch, &s->schema));
	const size_t max_line = (size_t)s->schema.settings->data.max_line;
	buffer_init(&s->text, 4 * (PIECE + max_line));
	RS_TRY(parser_open(&s->schema, s->options.purpose, &s->parser));
	parser_keep_bad_rows(s->parser, s->options.keep_bad_rows);
	return RS_OK;
}

enum rs_status
scorer_open(const struct scorer_options *options, struct scorer **out)
{
	struct scorer *s;

	*out = NULL;
	RS_TRY(memory_alloc(1, sizeof *s, &s));
	s->options = *options;
	const enum rs_status status = open_all(s);
	if (status != RS_OK) {
		scorer_close(s);
		return status;
	}
	*out = s;
	return RS_OK;
}

static void
close_file(struct scorer *s)
{
	source_close(s->source);
	s->source = NULL;
	parser_layout_free(s->layout);
	s->layout = NULL;
	s->text.n = s->begin = 0;
}

static void
free_list(struct text_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		free(list->item[i]);
	free(list->item);
}

void
scorer_close(struct scorer *s)
{
	if (s == NULL)
		return;
	close_file(s);
	buffer_free(&s->text);
	parser_close(s->parser);
	batch_free(&s->batch);
	schema_free(&s->schema);
	workers_free(s->workers);
	model_free(s->model);
	spec_free(s->spec);
	free_list(&s->patterns);
	free_list(&s->files);
	free(s->logit);
	free(s);
}

/* Has at least n bytes ready, or all there are. */
static enum rs_status
fill(struct scorer *s, size_t n)
{
	size_t got;

	if (s->text.n - s->begin >= n || s->at_end)
		return RS_OK;
	memmove(s->text.data, s->text.data + s->begin, s->text.n - s->begin);
	s->text.n -= s->begin;
	s->begin = 0;
	RS_TRY(buffer_reserve(&s->text, n - s->text.n));
	while (s->text.n < n && !s->at_end) {
		RS_TRY(source_read(s->source, s->text.data + s->text.n, n - s->text.n, &got));
		s->text.n += got;
		s->at_end = got == 0;
	}
	return RS_OK;
}

static enum rs_status
open_file(struct scorer *s)
{
	const char *name = s->files.item[s->file++];
	size_t skip = 0, lines = 0;

	s->at_end = 0;
	s->drop = 0;
	RS_TRY(buffer_reserve(&s->text, PIECE));
	RS_TRY(source_open(name, &s->source));
	if (s->schema.settings->data.format != FORMAT_TFRECORD)
		source_expect_lines(s->source);
	RS_TRY(fill(s, PIECE));
	if (s->text.n > 0)
		RS_TRY(parser_layout_make(&s->schema, s->options.purpose, source_name(s->source),
			s->text.data, s->text.n, &s->layout, &skip, &lines));
	s->begin = skip;
	s->offset = skip;
	s->line = 1 + lines;
	return RS_OK;
}

static void
advance(struct scorer *s, size_t n)
{
	s->line += parser_lines(&s->schema, s->text.data + s->begin, n);
	s->begin += n;
	s->offset += n;
}

/* Goes behind a row that was longer than max_line. */
static enum rs_status
drop_row(struct scorer *s)
{
	while (s->drop > 0) {
		RS_TRY(fill(s, PIECE));
		const size_t n = s->text.n - s->begin;
		const char *const text = s->text.data + s->begin;
		const char *const end = n > 0 && s->drop == UINT64_MAX ? memchr(text, '\n', n)
								       : NULL;
		size_t take = end != NULL ? (size_t)(end + 1 - text) : n;

		if (s->drop != UINT64_MAX) {
			take = n < s->drop ? n : (size_t)s->drop;
			s->drop -= take;
		} else if (end != NULL) {
			s->drop = 0;
			s->line++;
		}
		if (n == 0)
			s->drop = 0;
		s->begin += take;
		s->offset += take;
	}
	return RS_OK;
}

/* Length of the next piece of whole rows; 0 at the end of the file. */
static enum rs_status
cut(struct scorer *s, size_t *out)
{
	const size_t max_line = (size_t)s->schema.settings->data.max_line;

	RS_TRY(drop_row(s));
	for (size_t want = PIECE;; want += PIECE) {
		RS_TRY(fill(s, want));
		const size_t have = s->text.n - s->begin;
		*out = have;
		if (s->at_end || have == 0)
			return RS_OK;
		*out = parser_split(&s->schema, s->text.data + s->begin, have, 0);
		if (*out > 0)
			return RS_OK;
		if (have > max_line) {
			*out = have;
			s->drop = parser_overhang(&s->schema, s->text.data + s->begin, have);
			return RS_OK;
		}
	}
}

static enum rs_status
check_tally(const struct scorer *s)
{
	const int64_t limit = s->schema.settings->data.max_bad_rows;

	if (limit < 0 || s->tally.skipped <= (uint64_t)limit || s->options.keep_bad_rows)
		return RS_OK;
	rs_fail(RS_EDATA, "%ju bad rows so far, data.max_bad_rows is %jd",
		(uintmax_t)s->tally.skipped,
		(intmax_t)limit);
	return rs_hint("look at the warnings above");
}

static enum rs_status
parse_piece(struct scorer *s, size_t n)
{
	const struct parser_span span = {
		.file = source_name(s->source), .layout = s->layout, .text = s->text.data
			+ s->begin,
		.n = n, .line = s->line, .offset = s->offset,
	};
	enum rs_status status;

	batch_clear(&s->batch);
	status = parser_parse(s->parser, &span, &s->batch, &s->tally);
	parser_warnings_show(parser_warnings(s->parser), &s->n_warned);
	RS_TRY(status);
	advance(s, n);
	return check_tally(s);
}

static enum rs_status
score_batch(struct scorer *s, struct scorer_rows *out)
{
	const size_t B = s->batch.B;

	if (B > s->capacity && !s->options.without_scores) {
		free(s->logit);
		s->logit = NULL;
		s->capacity = 0;
		RS_TRY(memory_alloc(B, sizeof *s->logit, &s->logit));
		s->capacity = B;
	}
	s->batch.first_row = s->n_rows;
	if (!s->options.without_scores)
		RS_TRY(workers_predict(s->workers, &s->batch, s->logit, s->unseen));
	out->batch = &s->batch;
	out->logit = s->logit;
	out->ids = parser_ids(s->parser);
	out->first = s->n_rows;
	s->n_rows += B;
	return RS_OK;
}

enum rs_status
scorer_next(struct scorer *s, struct scorer_rows *out)
{
	size_t n;

	batch_clear(&s->batch);
	*out = (struct scorer_rows){ .batch = &s->batch, .first = s->n_rows };
	while (s->batch.B == 0) {
		if (s->source == NULL && s->file == s->files.n)
			return RS_OK;
		if (s->source == NULL)
			RS_TRY(open_file(s));
		RS_TRY(cut(s, &n));
		if (n == 0)
			close_file(s);
		else
			RS_TRY(parse_piece(s, n));
	}
	return score_batch(s, out);
}

struct model *
scorer_model(const struct scorer *s)
{
	return s->model;
}

struct workers *
scorer_workers(const struct scorer *s)
{
	return s->workers;
}

const struct text_list *
scorer_files(const struct scorer *s)
{
	return &s->files;
}

const struct parser_tally *
scorer_tally(const struct scorer *s)
{
	return &s->tally;
}

const uint64_t *
scorer_unseen(const struct scorer *s)
{
	return s->unseen;
}
