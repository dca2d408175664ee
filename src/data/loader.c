/* The loader: opening, the parser threads, and the consumer's side. */
#include "data/loader.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/thread.h"
#include "data/loader_private.h"
#include "data/range.h"

#define LOADER_AUTO_MAX 4              /* parsers: one feeds several trainers      */
#define LOADER_RING_ROWS 16384         /* small batches: a longer ring             */
#define LOADER_RING_MAX 64
#define LOADER_GZIP_POINTS 2048        /* access points of all files, 64 MiB         */
#define LOADER_GZIP_RATIO 4            /* text to gzip, for the size of groups       */

/* ---- parser threads -------------------------------------------------- */

static enum rs_status
worker_source(struct loader_worker *worker, size_t file, struct source **out)
{
	const size_t i = file % LOADER_OPEN_FILES;
	struct loader *l = worker->loader;

	if (worker->source[i] == NULL || worker->source_file[i] != file) {
		source_close(worker->source[i]);
		worker->source[i] = NULL;
		RS_TRY(source_open(l->input[file].file.path, &worker->source[i]));
		worker->source_file[i] = file;
	}
	*out = worker->source[i];
	return RS_OK;
}

/* The text of an indexed group. */
static enum rs_status
worker_read(struct loader_worker *worker, struct loader_slot *slot)
{
	const struct loader_group *g = &slot->group;
	const struct loader_input *input = &worker->loader->input[g->file];
	struct source *source;
	size_t got;

	RS_TRY(loader_index_check(input));
	RS_TRY(worker_source(worker, g->file, &source));
	RS_TRY(source_seek(source, input->index, g->offset));
	slot->text.n = 0;
	RS_TRY(buffer_reserve(&slot->text, g->size));
	while (slot->text.n < g->size) {
		RS_TRY(source_read(source, slot->text.data + slot->text.n, g->size - slot->text.n,
			&got));
		if (got == 0)
			return rs_fail(RS_EDATA,
				"'%s' changed while it was being read: it ends early",
				input->file.path);
		slot->text.n += got;
	}
	return input->may_grow && hash_fingerprint64(slot->text.data, slot->text.n) != g->hash
		? loader_changed(input) : RS_OK;
}

static enum rs_status
worker_rows(struct loader_worker *worker, struct loader_slot *slot)
{
	const struct loader_input *input = &worker->loader->input[slot->group.file];
	struct parser_span span = { .file = input->file.path, .layout = input->layout,
		.line = slot->group.line, .offset = slot->group.offset };
	enum rs_status status;
	int done = 0;

	if (input->cache != NULL)
		RS_TRY(loader_cache_read(worker->loader, slot, &done));
	if (done)
		return RS_OK;
	if (worker->loader->indexed || input->cache != NULL)
		RS_TRY(worker_read(worker, slot));
	span.text = slot->text.data;
	span.n = slot->text.n;
	status = parser_parse(worker->parser, &span, &slot->batch, &slot->tally);
	parser_warnings_copy(&slot->warnings, parser_warnings(worker->parser));
	return status;
}

static enum rs_status
worker_parse(struct loader_worker *worker, struct loader_slot *slot)
{
	batch_clear(&slot->batch);
	batch_rows_clear(&slot->packed);
	slot->has_view = 0;
	memset(&slot->tally, 0, sizeof slot->tally);
	if (slot->mark != LOADER_ROWS)
		return RS_OK;
	RS_TRY(worker_rows(worker, slot));
	return worker->loader->indexed && !slot->has_view
	    ? batch_rows_add(&slot->packed, &slot->batch) : RS_OK;
}

static void
slot_fail(struct loader_slot *slot, enum rs_status status)
{
	slot->status = status;
	if (status != RS_OK)
		rs_failure_take(&slot->failure);
}

/* Takes the next span into the next slot, waiting for one to be free; NULL when
 * there is nothing more.  One thread at a time, so slots are in plan order. */
static struct loader_slot *
worker_take(struct loader *l)
{
	struct loader_slot *slot = NULL;

	(void)pthread_mutex_lock(&l->plan_lock);
	(void)pthread_mutex_lock(&l->lock);
	while (!atomic_load(&l->stop) && l->fed - l->joined >= l->n_slots)
		(void)pthread_cond_wait(&l->slot_free, &l->lock);
	(void)pthread_mutex_unlock(&l->lock);
	if (!atomic_load(&l->stop) && !l->plan.finished) {
		slot = &l->slot[l->fed % l->n_slots];
		slot->done = 0;
		slot->warnings.n = 0;
		slot_fail(slot, loader_plan_next(l, slot));
		if (slot->status != RS_OK)
			l->plan.finished = 1;
		(void)pthread_mutex_lock(&l->lock);
		l->fed++;
		(void)pthread_mutex_unlock(&l->lock);
	}
	(void)pthread_mutex_unlock(&l->plan_lock);
	return slot;
}

static void *
worker_run(void *argument)
{
	struct loader_worker *worker = argument;
	struct loader *l = worker->loader;
	struct loader_slot *slot;

	while ((slot = worker_take(l)) != NULL) {
		if (slot->status == RS_OK)
			slot_fail(slot, worker_parse(worker, slot));
		(void)pthread_mutex_lock(&l->lock);
		slot->done = 1;
		(void)pthread_cond_signal(&l->work);
		(void)pthread_mutex_unlock(&l->lock);
	}
	return NULL;
}

/* ---- opening --------------------------------------------------------- */

static enum rs_status
loader_add_inputs(struct loader *l, char **path, size_t n)
{
	RS_TRY(memory_alloc(n, sizeof *l->input, &l->input));
	RS_TRY(memory_alloc(n, sizeof *l->view, &l->view));
	l->n_inputs = n;
	for (size_t i = 0; i < n; i++) {
		struct loader_input *input = &l->input[i];
		struct stat st;

		input->file.path = path[i];
		input->once = strcmp(path[i], "-") == 0;
		if (l->options.command == NULL && !input->once && range_stat(path[i], &st) == 0) {
			input->once = !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode);
			input->modified = st.st_mtim;
			input->stored_size = (uint64_t)st.st_size;
			input->inode = (uint64_t)st.st_ino;
		}
		l->indexed = l->indexed && !input->once;
		l->view[i] = input->file;
	}
	return l->options.command == NULL ? loader_find_ranges(l) : RS_OK;
}

static enum rs_status
loader_find_inputs(struct loader *l)
{
	char **path = NULL;
	size_t n = 0;
	enum rs_status status;

	l->indexed = l->options.shuffle && l->options.command == NULL;
	if (l->options.command != NULL) {
		RS_TRY(memory_alloc(1, sizeof *path, &path));
		n = 1;
		status = memory_strdup(l->options.command, &path[0]);
	} else {
		status = source_expand(l->options.files, &path, &n);
		if (status == RS_OK && n == 0)
			status = rs_fail(RS_ENOINPUT, "no input file is named");
	}
	if (status == RS_OK)
		status = loader_add_inputs(l, path, n);
	/* from here on the inputs own the paths */
	for (size_t i = l->n_inputs; i < n; i++)
		free(path[i]);
	free(path);
	if (status == RS_OK && l->options.shuffle && !l->indexed)
		log_info("rows from a pipe keep their order: no shuffle");
	return status;
}

/* Access points cost 32 KiB each, and a group is entered at the one before it:
 * groups of gzip files grow with the input up to a quarter of the window. */
static void
loader_size_gzip(struct loader *l)
{
	const size_t most = l->window_bytes / 4 > l->group_bytes ? l->window_bytes / 4
		: l->group_bytes;
	uint64_t stored = 0, group;

	for (size_t i = 0; i < l->n_inputs; i++)
		stored += l->input[i].stored_size;
	group = stored * LOADER_GZIP_RATIO / LOADER_GZIP_POINTS;
	l->gzip_group_bytes = group < l->group_bytes ? l->group_bytes
		: group > most ? most : (size_t)group;
	l->gzip_points = LOADER_GZIP_POINTS / l->n_inputs;
}

static enum rs_status
loader_check_epochs(const struct loader *l)
{
	for (size_t i = 0; i < l->n_inputs; i++)
		if (l->input[i].once && l->options.epochs > 1) {
			(void)rs_fail(RS_ESPEC, "'%s' can be read once, but %ju epochs are wanted",
				l->input[i].file.path, (uintmax_t)l->options.epochs);
			return rs_hint("set train.epochs = 1, or give files");
		}
	return RS_OK;
}

size_t
loader_parsers(size_t n_threads)
{
	const char *why;

	if (n_threads > 0)
		return n_threads;
	n_threads = (thread_auto_count(&why) + 1) / 2;
	return n_threads > LOADER_AUTO_MAX ? LOADER_AUTO_MAX : n_threads;
}

size_t
loader_ring(size_t batch_size)
{
	const size_t n = LOADER_RING_ROWS / batch_size;

	return n < 4 ? 4 : n > LOADER_RING_MAX ? LOADER_RING_MAX : n;
}

size_t
loader_row_bytes(const struct schema *schema)
{
	return batch_rows_stride(schema);
}

static enum rs_status
loader_make_threads(struct loader *l)
{
	const size_t n = loader_parsers(l->options.n_threads);

	RS_TRY(memory_alloc(n, sizeof *l->worker, &l->worker));
	for (; l->n_workers < n; l->n_workers++) {
		l->worker[l->n_workers].loader = l;
		RS_TRY(parser_open(l->options.schema, l->options.purpose,
			&l->worker[l->n_workers].parser));
	}
	RS_TRY(memory_alloc(n + 2, sizeof *l->slot, &l->slot));
	while (l->n_slots < n + 2) {
		const int64_t max_line = l->options.schema->settings->data.max_line;
		struct loader_slot *const slot = &l->slot[l->n_slots++];

		buffer_init(&slot->text, 2 * (l->gzip_group_bytes + (size_t)max_line));
		RS_TRY(batch_init(&slot->batch, l->options.schema));
		RS_TRY(batch_rows_init(&slot->packed, l->options.schema));
		RS_TRY(memory_alloc(
			l->options.schema->F + 1, sizeof *slot->view.ids, &slot->view.ids));
	}
	return RS_OK;
}

static enum rs_status
loader_make_outputs(struct loader *l)
{
	const size_t n = loader_ring(l->options.batch_size);

	for (size_t i = 0; i < 2; i++) {
		RS_TRY(batch_init(&l->window[i].rows, l->options.schema));
		RS_TRY(batch_rows_init(&l->window[i].packed, l->options.schema));
	}
	RS_TRY(batch_init(&l->spare, l->options.schema));
	l->dealing = &l->window[0];
	l->joining = &l->window[1];
	RS_TRY(memory_alloc(n, sizeof *l->output, &l->output));
	for (; l->n_outputs < n; l->n_outputs++)
		RS_TRY(batch_init(&l->output[l->n_outputs].batch, l->options.schema));
	return RS_OK;
}

static void
loader_init_locks(struct loader *l)
{
	(void)pthread_mutex_init(&l->plan_lock, NULL);
	(void)pthread_mutex_init(&l->lock, NULL);
	(void)pthread_cond_init(&l->slot_free, NULL);
	(void)pthread_cond_init(&l->work, NULL);
	(void)pthread_cond_init(&l->published_more, NULL);
}

static enum rs_status
loader_prepare(struct loader *l)
{
	RS_TRY(loader_find_inputs(l));
	RS_TRY(loader_check_epochs(l));
	loader_size_gzip(l);
	RS_TRY(loader_cache_open(l));
	RS_TRY(loader_make_threads(l));
	RS_TRY(loader_make_outputs(l));
	if (!l->indexed)
		return RS_OK;
	RS_TRY(loader_index_build(l));
	for (size_t i = 0; i < l->n_inputs; i++)
		l->view[i] = l->input[i].file;
	if (l->index.rows == 0 && l->options.purpose != PARSE_PREDICT &&
	    !l->options.may_be_empty)
		return loader_no_rows(l->input[0].file.path, l->n_inputs, 0);
	if (l->index.n == 0)
		l->indexed = 0;
	return RS_OK;
}

enum rs_status
loader_no_rows(const char *first, size_t n_files, int has_bad)
{
	return rs_fail(RS_EDATA, "no rows%s in '%s'%s", has_bad ? " but bad ones" : "", first,
		n_files > 1 ? " and the other files" : "");
}

enum rs_status
loader_open(const struct loader_options *options, struct loader **out)
{
	const struct data_settings *data = &options->schema->settings->data;
	struct loader *l;

	assert(options->batch_size > 0);
	RS_TRY(memory_alloc(1, sizeof *l, &l));
	l->options = *options;
	l->options.command = options->command != NULL && *options->command != '\0'
		? options->command : NULL;
	l->group_bytes = data->row_group > 0 ? (size_t)data->row_group : (size_t)1 << 20;
	l->window_bytes = data->shuffle_window > 0 ? (size_t)data->shuffle_window : l->group_bytes;
	loader_init_locks(l);
	if (loader_prepare(l) != RS_OK) {
		loader_close(l);
		return rs_failure()->status;
	}
	l->position.identity = l->index.identity;       /* also before the first batch */
	*out = l;
	return RS_OK;
}

static enum rs_status
loader_start(struct loader *l)
{
	for (; l->n_started < l->n_workers; l->n_started++)
		RS_TRY(thread_start(&l->worker[l->n_started].thread, "rs-parser", worker_run,
			&l->worker[l->n_started]));
	RS_TRY(thread_start(&l->window_thread, "rs-window", loader_window_run, l));
	l->window_started = 1;
	return RS_OK;
}

/* ---- closing --------------------------------------------------------- */

static void
loader_stop(struct loader *l)
{
	(void)pthread_mutex_lock(&l->lock);
	atomic_store(&l->stop, 1);
	(void)pthread_cond_broadcast(&l->slot_free);
	(void)pthread_cond_broadcast(&l->work);
	(void)pthread_mutex_unlock(&l->lock);
	for (size_t i = 0; i < l->n_started; i++)
		thread_join(l->worker[i].thread);
	if (l->window_started)
		thread_join(l->window_thread);
}

static void
loader_free_workers(struct loader *l)
{
	for (size_t i = 0; i < l->n_workers; i++) {
		parser_close(l->worker[i].parser);
		for (size_t k = 0; k < LOADER_OPEN_FILES; k++)
			source_close(l->worker[i].source[k]);
	}
	free(l->worker);
	for (size_t i = 0; i < l->n_slots; i++) {
		buffer_free(&l->slot[i].text);
		batch_free(&l->slot[i].batch);
		batch_rows_free(&l->slot[i].packed);
		free(l->slot[i].view.ids);
	}
	free(l->slot);
}

static void
loader_free_inputs(struct loader *l)
{
	for (size_t i = 0; i < l->n_inputs; i++) {
		if (!l->input[i].layout_borrowed)
			parser_layout_free(l->input[i].layout);
		source_index_free(l->input[i].index);
		loader_cache_close(&l->input[i]);
		free((char *)(uintptr_t)l->input[i].file.path);
	}
	free(l->input);
	free(l->view);
}

void
loader_close(struct loader *l)
{
	if (l == NULL)
		return;
	loader_stop(l);
	loader_plan_close(l);
	loader_window_free(l);
	for (size_t i = 0; i < l->n_outputs; i++) {
		batch_free(&l->output[i].batch);
		free(l->output[i].delta.item);
	}
	free(l->output);
	loader_free_workers(l);
	loader_free_inputs(l);
	loader_index_free(&l->index);
	(void)pthread_cond_destroy(&l->published_more);
	(void)pthread_cond_destroy(&l->work);
	(void)pthread_cond_destroy(&l->slot_free);
	(void)pthread_mutex_destroy(&l->lock);
	(void)pthread_mutex_destroy(&l->plan_lock);
	free(l);
}

/* ---- the consumer ---------------------------------------------------- */

/* Gives back the batch of the last call.  A window thread that sleeps since the ring was full
 * is woken when half of it is left: now and then, and long before the ring is empty. */
static void
loader_release(struct loader *l)
{
	atomic_store(&l->released, l->taken);
	if (atomic_load(&l->published) - l->taken != l->n_outputs / 2)
		return;
	(void)pthread_mutex_lock(&l->lock);
	(void)pthread_cond_signal(&l->work);
	(void)pthread_mutex_unlock(&l->lock);
}

static int
loader_has_next(struct loader *l)
{
	return atomic_load_explicit(&l->published, memory_order_acquire) > l->taken;
}

/* Blocks until a batch is there; tells the window thread that it is awaited.  0: a signal came
 * first; a handler cannot wake who waits, so that looks now and then. */
static int
loader_wait(struct loader *l, double *wait_s)
{
	const volatile int *const stop = l->options.stop_signal;
	struct timespec t;

	if (loader_has_next(l))
		return 1;
	const double begin = clock_seconds();
	(void)pthread_mutex_lock(&l->lock);
	(void)pthread_cond_signal(&l->work);
	while (!loader_has_next(l) && (stop == NULL || *stop == 0)) {
		(void)clock_gettime(CLOCK_REALTIME, &t);
		t.tv_sec++;
		(void)pthread_cond_timedwait(&l->published_more, &l->lock, &t);
	}
	(void)pthread_mutex_unlock(&l->lock);
	if (wait_s != NULL)
		*wait_s = clock_seconds() - begin;
	return loader_has_next(l);
}

static void
tally_add(struct parser_tally *to, const struct parser_tally *from)
{
	to->read += from->read;
	to->skipped += from->skipped;
	to->zero_weight += from->zero_weight;
	to->blank += from->blank;
}

static void
loader_count(struct loader *l, const struct loader_output *o)
{
	for (size_t i = 0; i < o->delta.n; i++) {
		const struct loader_delta *d = &o->delta.item[i];

		tally_add(&l->tally, &d->tally);
		if (o->batch.epoch == l->counted_epoch)
			tally_add(&l->view[d->file].tally, &d->tally);
		if (d->has_size) {
			l->view[d->file].size = d->size;
			l->view[d->file].content_hash = d->hash;
		}
	}
}

enum rs_status
loader_next(struct loader *l, const struct batch **batch, double *wait_s)
{
	struct loader_output *o;

	*batch = NULL;
	if (wait_s != NULL)
		*wait_s = 0;
	if (l->n_started == 0)
		RS_TRY(loader_start(l));
	if (!l->ended) {
		loader_release(l);
		if (!loader_wait(l, wait_s))
			return rs_fail(RS_ESIGNAL, "reading was stopped");
	}
	o = &l->output[(l->ended ? l->taken - 1 : l->taken) % l->n_outputs];
	if (!l->ended) {
		l->taken++;
		loader_count(l, o);
	}
	if (o->end) {
		l->ended = 1;
		return o->status == RS_OK ? RS_OK : rs_failure_put(&o->failure);
	}
	l->position = o->position;
	*batch = &o->batch;
	return RS_OK;
}

void
loader_position(const struct loader *l, struct loader_position *out)
{
	*out = l->position;
}

enum rs_status
loader_resume(struct loader *l, const struct loader_position *position)
{
	assert(l->n_started == 0);
	RS_TRY(loader_plan_resume(l, position));
	l->start = *position;
	l->position = *position;
	l->epoch_rows = position->rows;
	l->counted_epoch = position->epoch;
	return RS_OK;
}

void
loader_resume_counts(struct loader *l, const struct parser_tally *file, size_t n)
{
	if (n != l->n_inputs)
		return;
	for (size_t i = 0; i < n; i++)
		l->view[i].tally = file[i];
	l->counted_epoch = 0;
}

uint64_t
loader_rows(const struct loader *l)
{
	return l->index.rows;
}

void
loader_tally(const struct loader *l, struct parser_tally *out)
{
	*out = l->tally;
}

size_t
loader_n_files(const struct loader *l)
{
	return l->n_inputs;
}

const struct loader_file *
loader_file(const struct loader *l, size_t i)
{
	return &l->view[i];
}
