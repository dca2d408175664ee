/* Reading alone: text, gzip and cached rows, each beside its limit. */
#include "cmd/bench_input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/file.h"
#include "base/memory.h"
#include "base/thread.h"
#include "cmd/bench_data.h"
#include "data/cache.h"
#include "data/loader.h"
#include "data/source.h"

#define PASSES      5
#define SPAN        ((size_t)256 << 10)
#define PIECE       ((size_t)128 << 10)
#define GZIP_TEXT   ((size_t)8 << 20)  /* compressing takes longest, so             */
#define GZIP_TIMES  4                  /* the file has the member that often        */
#define GZIP_LEVEL  6
#define GZIP_WRAP   (15 + 16)

/* Text of whole rows, and the batch that all passes fill. */
struct bed {
	const struct model *m;
	const char *path;
	struct buffer text, packed, copy;
	struct parser *parser;
	struct parser_layout *layout;
	size_t skip, lines;            /* before the first row                        */
	struct batch batch;
	uint64_t rows;
	char  *directory, *gz;         /* its file of the packed text                 */
	struct cache_writer writer;
	struct cache *cache;
};

/* One pass over some input: its seconds are taken. */
typedef enum rs_status pass_fn(struct bed *b);

/* The shortest of some passes of each in turns, so that what else the machine does hits
 * both. */
static enum rs_status
race(struct bed *b, pass_fn *first, pass_fn *second, double seconds[2])
{
	pass_fn *const run[2] = { first, second };

	seconds[0] = seconds[1] = INFINITY;
	for (size_t i = 0; i < 2 * PASSES; i++) {
		const double start = clock_seconds();

		RS_TRY(run[i % 2](b));
		seconds[i % 2] = fmin(seconds[i % 2], clock_seconds() - start);
	}
	return RS_OK;
}

static struct bench_input
result(double rows, double bytes, size_t threads, const double seconds[2])
{
	return (struct bench_input){ .threads = threads, .rows_per_s = rows / seconds[0],
		.limit = rows / seconds[1], .mb_per_s = bytes / seconds[0] / 1e6 };
}

/* ---- text ------------------------------------------------------------------ */

static enum rs_status
read_text(const char *path, size_t limit, struct buffer *text)
{
	struct source *source;
	enum rs_status status;
	size_t got = 1;

	RS_TRY(source_open(path, &source));
	status = buffer_reserve(text, limit);
	while (status == RS_OK && got > 0 && text->n < limit) {
		status = source_read(source, text->data + text->n, limit - text->n, &got);
		text->n += got;
	}
	source_close(source);
	return status;
}

/* Span by span, as the loader's parsers do; with a writer the rows go to the cache. */
static enum rs_status
parse_spans(struct bed *b, struct cache_writer *writer)
{
	const char *const end = b->text.data + b->text.n;
	struct parser_span span = { .file = b->path, .layout = b->layout,
		.text = b->text.data + b->skip, .line = b->lines + 1, .offset = b->skip };

	b->rows = 0;
	for (; span.text < end; span.text += span.n, span.offset += span.n) {
		const size_t left = (size_t)(end - span.text);
		struct parser_tally tally = { .read = 0 };

		span.n = parser_split(&b->m->schema, span.text, left < SPAN ? left : SPAN, 0);
		if (span.n == 0)
			break;
		batch_clear(&b->batch);
		RS_TRY(parser_parse(b->parser, &span, &b->batch, &tally));
		b->rows += tally.read;
		if (writer != NULL)
			RS_TRY(cache_writer_add(writer, &b->m->schema,
				&(struct cache_group){ .size = span.n }, &b->batch));
	}
	return RS_OK;
}

static enum rs_status
parse_text(struct bed *b)
{
	return parse_spans(b, NULL);
}

static enum rs_status
copy_text(struct bed *b)
{
	memcpy(b->copy.data, b->text.data, b->text.n);
	return RS_OK;
}

static enum rs_status
measure_text(struct bed *b, struct bench_input *out)
{
	double seconds[2];

	RS_TRY(buffer_reserve(&b->copy, b->text.n));
	RS_TRY(race(b, parse_text, copy_text, seconds));
	*out = result((double)b->rows, (double)(b->text.n - b->skip), 1, seconds);
	return RS_OK;
}

/* ---- gzip ------------------------------------------------------------------ */

static enum rs_status
pack(struct bed *b, size_t *text_bytes)
{
	const size_t n = *text_bytes = b->text.n < GZIP_TEXT ? b->text.n :
		parser_split(&b->m->schema, b->text.data, GZIP_TEXT, 0);
	z_stream z = { .next_in = (unsigned char *)b->text.data, .avail_in = (uInt)n };

	if (deflateInit2(&z, GZIP_LEVEL, Z_DEFLATED, GZIP_WRAP, 8, Z_DEFAULT_STRATEGY) != Z_OK)
		return rs_fail(RS_ERESOURCE, "out of memory for gzip");
	const size_t most = deflateBound(&z, n);
	enum rs_status status = buffer_reserve(&b->packed, most);

	z.next_out = (unsigned char *)b->packed.data;
	z.avail_out = (uInt)most;
	if (status == RS_OK && deflate(&z, Z_FINISH) != Z_STREAM_END)
		status = rs_fail(RS_EBUG, "gzip of %zu bytes does not end", n);
	b->packed.n = z.total_out;
	deflateEnd(&z);
	return status;
}

static enum rs_status
inflate_alone(struct bed *b)
{
	z_stream z = { .next_in = NULL };
	int r = inflateInit2(&z, GZIP_WRAP);

	for (size_t i = 0; i < GZIP_TIMES && (i == 0 || r == Z_STREAM_END); i++) {
		z.next_in = (unsigned char *)b->packed.data;
		z.avail_in = (uInt)b->packed.n;
		r = inflateReset(&z);
		while (r == Z_OK) {
			z.next_out = (unsigned char *)b->copy.data;
			z.avail_out = PIECE;
			r = inflate(&z, Z_NO_FLUSH);
		}
	}
	inflateEnd(&z);
	return r == Z_STREAM_END ? RS_OK : rs_fail(RS_EBUG, "gzip of our own cannot be read");
}

static enum rs_status
count_rows(void *context, const struct batch *batch, int *done)
{
	struct bed *const b = context;

	(void)done;
	b->rows += batch->B;
	return RS_OK;
}

static enum rs_status
read_gzip(struct bed *b)
{
	const struct text_list files = { .item = &b->gz, .n = 1 };
	const struct loader_options options = { .schema = &b->m->schema, .files = &files,
		.purpose = PARSE_TRAIN, .epochs = 1, .n_threads = 1,
		.batch_size = (size_t)spec_settings(b->m->spec)->train.batch_size };

	b->rows = 0;
	return loader_each(&options, count_rows, b, NULL);
}

static enum rs_status
write_members(struct bed *b)
{
	struct file_writer file;
	enum rs_status status = RS_OK;

	RS_TRY(file_join(b->directory, "rows.gz", &b->gz));
	RS_TRY(file_writer_open(&file, b->gz));
	for (size_t i = 0; status == RS_OK && i < GZIP_TIMES; i++)
		status = file_writer_write(&file, b->packed.data, b->packed.n);
	if (status == RS_OK)
		status = file_writer_commit(&file);
	file_writer_close(&file);
	return status;
}

static enum rs_status
measure_gzip(struct bed *b, struct bench_input *out)
{
	double seconds[2];
	size_t text_bytes;

	RS_TRY(pack(b, &text_bytes));
	RS_TRY(write_members(b));
	RS_TRY(race(b, read_gzip, inflate_alone, seconds));
	*out = result((double)b->rows, (double)(GZIP_TIMES * text_bytes), 2, seconds);
	return RS_OK;
}

/* ---- cache ----------------------------------------------------------------- */

static enum rs_status
make_cache(struct bed *b)
{
	enum cache_state state;
	enum rs_status status;
	struct stat st;
	char *path;

	if (stat(b->path, &st) != 0)
		return rs_fail(RS_ENOINPUT, "cannot examine '%s'", b->path);
	RS_TRY(file_join(b->directory, "rows" CACHE_SUFFIX, &path));
	status = cache_writer_open(&b->writer, path);
	if (status == RS_OK)
		status = parse_spans(b, &b->writer);
	if (status == RS_OK)
		status = cache_writer_commit(
			&b->writer, b->path, 0, &st, &(struct cache_text){ 0, 0 });
	if (status == RS_OK)
		status = cache_open(path, 0, &st, &state, &b->cache);
	free(path);
	return status;
}

static enum rs_status
read_cache(struct bed *b)
{
	for (size_t i = 0; i < cache_n_groups(b->cache); i++) {
		batch_clear(&b->batch);
		RS_TRY(cache_read(b->cache, i, &b->m->schema, &b->packed, &b->batch));
	}
	return RS_OK;
}

static enum rs_status
copy_cache(struct bed *b)
{
	size_t left = (size_t)b->writer.file.size;

	for (size_t n; left > 0; left -= n) {
		n = left < b->text.n ? left : b->text.n;
		memcpy(b->copy.data, b->text.data, n);
	}
	return RS_OK;
}

static enum rs_status
measure_cache(struct bed *b, struct bench_input *out)
{
	double seconds[2];

	RS_TRY(make_cache(b));
	if (b->cache == NULL)
		return rs_fail(RS_EDATA, "'%s' changed while it was measured", b->path);
	RS_TRY(race(b, read_cache, copy_cache, seconds));
	*out = result((double)b->rows, (double)(b->text.n - b->skip), 1, seconds);
	return RS_OK;
}

/* ---- all ------------------------------------------------------------------- */

static enum rs_status
open_bed(struct bed *b, size_t limit)
{
	const struct schema *const schema = &b->m->schema;

	RS_TRY(batch_init(&b->batch, schema));
	RS_TRY(read_text(b->path, limit, &b->text));
	RS_TRY(parser_layout_make(schema, PARSE_TRAIN, b->path, b->text.data, b->text.n,
		&b->layout, &b->skip, &b->lines));
	RS_TRY(bench_directory(&b->directory));
	return parser_open(schema, PARSE_TRAIN, &b->parser);
}

static void
close_bed(struct bed *b)
{
	parser_close(b->parser);
	if (b->layout != NULL)
		parser_layout_free(b->layout);
	cache_close(b->cache);
	if (b->writer.file.path != NULL)
		cache_writer_close(&b->writer);
	if (b->directory != NULL)
		(void)file_remove_tree(b->directory);
	free(b->directory);
	free(b->gz);
	batch_free(&b->batch);
	buffer_free(&b->text);
	buffer_free(&b->packed);
	buffer_free(&b->copy);
}

static enum rs_status
measure_file(
	const struct model *m, const char *path, size_t limit, struct bench_input out[BENCH_INPUTS])
{
	struct bed b = { .m = m, .path = path };
	enum rs_status status;

	buffer_init(&b.text, limit + 1);
	buffer_init(&b.packed, (size_t)1 << 32);
	buffer_init(&b.copy, limit + PIECE);
	status = open_bed(&b, limit);
	if (status == RS_OK)
		status = measure_text(&b, &out[BENCH_PARSE]);
	if (status == RS_OK)
		status = buffer_reserve(&b.copy, PIECE);
	if (status == RS_OK)
		status = measure_gzip(&b, &out[BENCH_GZIP]);
	if (status == RS_OK)
		status = measure_cache(&b, &out[BENCH_CACHE]);
	close_bed(&b);
	return status;
}

enum rs_status
bench_inputs(const struct model *m, size_t limit, struct bench_input out[BENCH_INPUTS])
{
	enum rs_status status;
	char **path;
	size_t n;

	RS_TRY(source_expand(&spec_settings(m->spec)->data.train, &path, &n));
	status = measure_file(m, path[0], limit, out);
	for (size_t i = 0; i < n; i++)
		free(path[i]);
	free(path);
	return status;
}
