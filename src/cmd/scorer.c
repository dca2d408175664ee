/* Scores data rows in the order of the files. */
#include "cmd/scorer.h"

#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "cmd/model_files.h"
#include "cmd/scorer_private.h"
#include "train/checkpoint.h"

#define PIECE ((size_t)1 << 20)        /* bytes of text scored together            */

static enum rs_status
find_column(const struct scorer *s, const struct scorer_part *part, const char **out)
{
	const struct settings *settings = spec_settings(part->spec);

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
set_spec(const struct scorer *s, struct scorer_part *part)
{
	const char *column = s->options.id;

	if (s->options.field != NULL)
		RS_TRY(find_column(s, part, &column));
	if (column != NULL)
		RS_TRY(spec_set(part->spec, "data", "id", column));
	if (s->options.purpose == PARSE_PREDICT)
		RS_TRY(spec_set(part->spec, "data", "on_bad_row", "fail"));
	return RS_OK;
}

static enum rs_status
part_fill(const struct scorer *s, uint64_t version, uint64_t *loaded, struct scorer_part *part)
{
	const char *why;
	const size_t n = s->options.n_threads > 0 ? s->options.n_threads : thread_auto_count(&why);
	const struct model_options options = { .n_threads = n };
	uint64_t found;

	RS_TRY(checkpoint_load(s->directory, version, &options, &part->model, NULL, &found));
	part->number = found;
	RS_TRY(checkpoint_spec(s->directory, version == CHECKPOINT_HERE ? version : found,
		&part->spec));
	RS_TRY(workers_create(part->model, n, &part->workers));
	RS_TRY(set_spec(s, part));
	RS_TRY(schema_build(spec_settings(part->spec), &part->schema));
	part->schema.predicts_groups = s->options.with_groups;
	RS_TRY(batch_init(&part->batch, &part->schema));
	RS_TRY(parser_open(&part->schema, s->options.purpose, &part->parser));
	parser_keep_bad_rows(part->parser, s->options.keep_bad_rows);
	if (s->options.with_cells)
		RS_TRY(parser_keep_cells(part->parser));
	if (loaded != NULL)
		*loaded = version == CHECKPOINT_HERE ? version : found;
	return RS_OK;
}

enum rs_status
scorer_part_open(const struct scorer *s, uint64_t version, uint64_t *loaded,
	struct scorer_part **out)
{
	struct scorer_part *part;

	*out = NULL;
	RS_TRY(memory_alloc(1, sizeof *part, &part));
	const enum rs_status status = part_fill(s, version, loaded, part);
	if (status != RS_OK) {
		scorer_part_close(part);
		return status;
	}
	*out = part;
	return RS_OK;
}

void
scorer_part_close(struct scorer_part *part)
{
	if (part == NULL)
		return;
	parser_close(part->parser);
	batch_free(&part->batch);
	schema_free(&part->schema);
	workers_free(part->workers);
	model_free(part->model);
	spec_free(part->spec);
	free(part);
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
	uint64_t at;

	RS_TRY(expand_files(s));
	RS_TRY(model_files_resolve(s->options.model, &s->directory, &at));
	if (s->options.follow && at != CHECKPOINT_HERE)
		RS_TRY(scorer_follow_open(s));
	RS_TRY(scorer_part_open(s, at, &s->version, &s->part));
	const struct data_settings *const data = &s->part->schema.settings->data;
	if (s->options.follow && data->format == FORMAT_TFRECORD)
		return rs_fail(RS_EUSAGE, "records of tfrecord are no lines, so that they cannot "
			"be followed");
	buffer_init(&s->text, 4 * (PIECE + (size_t)data->max_line));
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
	scorer_part_close(s->part);
	scorer_follow_close(s);
	free(s->directory);
	free_list(&s->patterns);
	free_list(&s->files);
	free(s->logit);
	free(s);
}

/* Has at least n bytes ready, or all there are; of a stream that is followed also fewer. */
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
		if (s->options.follow)
			break;
	}
	return RS_OK;
}

static int
has_row(const struct scorer *s)
{
	return parser_split(&s->part->schema, s->text.data + s->begin, s->text.n - s->begin, 0) > 0;
}

/* What a layout is made from: the beginning of the file, or a row that is followed. */
static enum rs_status
fill_head(struct scorer *s)
{
	do
		RS_TRY(fill(s, PIECE));
	while (s->options.follow && !s->at_end && s->text.n < PIECE && !has_row(s));
	return RS_OK;
}

static void
idle(void *context)
{
	scorer_follow_look(context);
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
	if (s->part->schema.settings->data.format != FORMAT_TFRECORD)
		source_expect_lines(s->source);
	if (s->options.follow)
		source_set_idle(s->source, idle, s);
	RS_TRY(fill_head(s));
	if (s->text.n > 0)
		RS_TRY(parser_layout_make(&s->part->schema, s->options.purpose,
			source_name(s->source), s->text.data, s->text.n, &s->layout, &skip,
			&lines));
	s->begin = skip;
	s->offset = skip;
	s->line = 1 + lines;
	return s->options.follow ? scorer_follow_begin(s) : RS_OK;
}

static void
advance(struct scorer *s, size_t n)
{
	s->line += parser_lines(&s->part->schema, s->text.data + s->begin, n);
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
	const size_t max_line = (size_t)s->part->schema.settings->data.max_line;

	RS_TRY(drop_row(s));
	for (size_t want = PIECE, have;; want = s->options.follow ? have + PIECE : want + PIECE) {
		if (!s->options.follow || !has_row(s))
			RS_TRY(fill(s, want));
		have = s->text.n - s->begin;
		*out = have;
		if (s->at_end || have == 0)
			return RS_OK;
		*out = parser_split(&s->part->schema, s->text.data + s->begin, have, 0);
		if (*out > 0)
			return RS_OK;
		if (have > max_line) {
			*out = have;
			s->drop = parser_overhang(&s->part->schema, s->text.data + s->begin, have);
			return RS_OK;
		}
	}
}

static enum rs_status
check_tally(const struct scorer *s)
{
	const int64_t limit = s->part->schema.settings->data.max_bad_rows;

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

	batch_clear(&s->part->batch);
	if (s->options.follow)
		s->n_warned = 0;
	status = parser_parse(s->part->parser, &span, &s->part->batch, &s->tally);
	parser_warnings_show(parser_warnings(s->part->parser), &s->n_warned);
	RS_TRY(status);
	advance(s, n);
	return check_tally(s);
}

static enum rs_status
score_batch(struct scorer *s, struct scorer_rows *out)
{
	const size_t B = s->part->batch.B;

	if (B > s->capacity && !s->options.without_scores) {
		free(s->logit);
		s->logit = NULL;
		s->capacity = 0;
		RS_TRY(memory_alloc(B, sizeof *s->logit, &s->logit));
		s->capacity = B;
	}
	s->part->batch.first_row = s->n_rows;
	if (!s->options.without_scores)
		RS_TRY(workers_predict(s->part->workers, &s->part->batch, s->logit, s->unseen));
	out->batch = &s->part->batch;
	out->logit = s->logit;
	out->ids = parser_ids(s->part->parser);
	out->first = s->n_rows;
	s->n_rows += B;
	return RS_OK;
}

enum rs_status
scorer_next(struct scorer *s, struct scorer_rows *out)
{
	size_t n;

	batch_clear(&s->part->batch);
	*out = (struct scorer_rows){ .batch = &s->part->batch, .first = s->n_rows };
	while (s->part->batch.B == 0) {
		if (s->source == NULL && s->file == s->files.n) {
			out->batch = &s->part->batch;
			return RS_OK;
		}
		if (s->source == NULL)
			RS_TRY(open_file(s));
		RS_TRY(cut(s, &n));
		if (s->options.follow)
			scorer_follow_look(s);
		if (n == 0)
			close_file(s);
		else
			RS_TRY(parse_piece(s, n));
	}
	return score_batch(s, out);
}

const char *
scorer_cell(const struct scorer *s, size_t b, size_t field, size_t *n)
{
	return parser_cell_text(s->part->parser, b, field, n);
}

struct model *
scorer_model(const struct scorer *s)
{
	return s->part->model;
}

uint64_t
scorer_version(const struct scorer *s)
{
	return s->part->number;
}

struct workers *
scorer_workers(const struct scorer *s)
{
	return s->part->workers;
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
