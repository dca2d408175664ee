/* GPUs that are memory closed to the host, and kernels that run when they are started. */
#include "emulated_gpu.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/memory.h"
#include "kernel/cuda/cuda_body.h"

enum { COPIES_MAX = 4096 };

/* Until wait(). */
struct copy {
	void  *to;                     /* a download: bytes go from `kept` to there       */
	void  *kept;                   /* NULL: they are still at `from`                  */
	const void *from;              /* an upload: with this sum                        */
	uint32_t crc;
	size_t bytes;
};

struct gpu_queue {
	struct emulate_memory memory;
	struct copy copy[COPIES_MAX];
	size_t n_copies;
	int    device;
	int  (*is_held)(void *context);            /* not over before it says so; or NULL */
	void  *holder;
	unsigned n_marks;              /* that were set, until wait()                     */
	size_t marked_at;              /* what had been started before the last           */
	struct gpu_graph *graph;       /* that is being made                              */
	int    is_replaying;           /* one that is made                                */
};

static atomic_uint in_use, queues[EMULATED_GPUS];
static atomic_size_t bytes_of[EMULATED_GPUS];

/* What alloc() gave. */
struct piece { void *p; size_t bytes; int device; };
enum { PIECES_MAX = 256 };
static struct piece piece[PIECES_MAX];
static pthread_mutex_t piece_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local struct gpu_queue *current;

static atomic_size_t bytes_up, bytes_down;

struct emulated_gpu_copies
emulated_gpu_copies(void)
{
	return (struct emulated_gpu_copies){ atomic_exchange(&bytes_up, 0),
		atomic_exchange(&bytes_down, 0) };
}

unsigned
emulated_gpu_in_use(void)
{
	return atomic_load(&in_use);
}

unsigned
emulated_gpu_queues(int device)
{
	return atomic_load(&queues[device]);
}

static size_t
scratch_floats(const struct gpu_plan *plan)
{
	return plan->rows + column_partial(plan->columns);
}

static size_t
gpu_size(const struct gpu_plan *plan)
{
	return plan->bytes + scratch_floats(plan) * sizeof(float)
		+ (plan->multiplies ? EMULATED_PRODUCT_BYTES : 0);
}

static enum rs_status
check_device(int device)
{
	return device >= 0 && device < EMULATED_GPUS ? RS_OK
		: rs_fail(RS_EPEER, "GPU: cannot be used: there is no GPU %d", device);
}

static enum rs_status
gpu_memory(int device, size_t *free_bytes)
{
	RS_TRY(check_device(device));
	*free_bytes = EMULATED_GPU_BYTES - atomic_load(&bytes_of[device]);
	return RS_OK;
}

static atomic_uint until_no_memory;

void
emulated_gpu_refuse_memory(unsigned n)
{
	atomic_store(&until_no_memory, n);
}

static enum rs_status
check_memory(size_t bytes)
{
	return atomic_load(&until_no_memory) > 0
		&& atomic_fetch_sub(&until_no_memory, 1) == 1
		? rs_fail(RS_ERESOURCE, "GPU: no block of %zu bytes: emulated", bytes) : RS_OK;
}

static enum rs_status
gpu_open(const struct gpu_plan *plan, struct gpu_queue **out, char **block)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	const size_t bytes = (gpu_size(plan) + page - 1) / page * page;
	struct gpu_queue *q;

	RS_TRY(check_device(plan->device));
	RS_TRY(check_memory(bytes));
	RS_TRY(memory_alloc(1, sizeof(*q), &q));
	q->device = plan->device;
	q->memory = (struct emulate_memory){ .bytes = bytes, .device = plan->device,
		.scratch_floats = scratch_floats(plan), .multiplies = plan->multiplies };
	q->memory.block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		-1, 0);
	if (q->memory.block == MAP_FAILED) {
		free(q);
		return rs_fail(RS_ERESOURCE, "GPU: no block of %zu bytes", bytes);
	}
	memset(q->memory.block, 0xff, bytes);
	mprotect(q->memory.block, bytes, PROT_NONE);
	atomic_fetch_add(&in_use, 1);
	atomic_fetch_add(&queues[q->device], 1);
	atomic_fetch_add(&bytes_of[q->device], bytes);
	*out = q;
	*block = q->memory.block;
	return RS_OK;
}

static void
drop_copies(struct gpu_queue *q)
{
	for (size_t i = 0; i < q->n_copies; i++)
		free(q->copy[i].kept);
	q->n_copies = 0;
}

static void
gpu_use(struct gpu_queue *q)
{
	current = q;
	emulate_use(q == NULL ? NULL : &q->memory);
}

static void
gpu_close(struct gpu_queue *q)
{
	if (current == q)
		gpu_use(NULL);
	if (q->is_held != NULL && q->is_held(q->holder) == 0)
		emulate_violate("a queue is closed in which something goes on");
	drop_copies(q);
	atomic_fetch_sub(&queues[q->device], 1);
	atomic_fetch_sub(&bytes_of[q->device], q->memory.bytes);
	munmap(q->memory.block, q->memory.bytes);
	free(q);
	atomic_fetch_sub(&in_use, 1);
}

static struct copy *
next_copy(size_t bytes)
{
	struct gpu_queue *q = current;

	assert(q->graph == NULL && !q->is_replaying);
	if (q->n_copies == COPIES_MAX)
		abort();
	q->copy[q->n_copies] = (struct copy){ .bytes = bytes };
	return &q->copy[q->n_copies++];
}

static void
gpu_upload(void *to, const void *from, size_t bytes)
{
	if (current->is_held != NULL)
		abort();
	if (!emulate_start())
		return;
	memcpy(to, from, bytes);
	emulate_stop();
	struct copy *const c = next_copy(bytes);
	atomic_fetch_add(&bytes_up, bytes);
	c->from = from;
	c->crc = hash_crc32c(0, from, bytes);
}

static void
keep(struct copy *c)
{
	c->kept = malloc(c->bytes);
	memcpy(c->kept, c->from, c->bytes);
}

static void
gpu_download(void *to, const void *from, size_t bytes)
{
	if (!emulate_start())
		return;
	struct copy *const c = next_copy(bytes);
	atomic_fetch_add(&bytes_down, bytes);
	c->to = to;
	c->from = from;
	if (current->is_held == NULL)
		keep(c);
	emulate_stop();
	memset(to, 0xff, bytes);
}

static enum rs_status
gpu_wait(void)
{
	struct gpu_queue *const q = current;
	const int has_failed = q->memory.has_failed;

	if (q->is_held != NULL && q->is_held(q->holder) == 0)
		emulate_violate("it is waited without an end for what goes on in a queue");
	q->is_held = NULL;
	for (size_t i = 0; i < q->n_copies && !has_failed; i++) {
		const struct copy *const c = &q->copy[i];
		if (c->to != NULL)
			memcpy(c->to, c->kept, c->bytes);
		else if (hash_crc32c(0, c->from, c->bytes) != c->crc)
			emulate_violate("what upload %zu takes was changed before it was done", i);
	}
	drop_copies(q);
	q->n_marks = 0;
	q->memory.has_failed = 0;
	return has_failed ? rs_fail(RS_EDEVICE, "GPU: a kernel or copy failed: emulated") : RS_OK;
}

static enum rs_status
gpu_host_alloc(size_t bytes, void *out)
{
	RS_TRY(memory_alloc(1, bytes, out));
	atomic_fetch_add(&in_use, 1);
	return RS_OK;
}

static void
gpu_host_free(void *p)
{
	free(p);
	atomic_fetch_sub(&in_use, 1);
}

static enum rs_status
gpu_alloc(int device, size_t bytes, void *out)
{
	size_t i = 0;

	RS_TRY(check_device(device));
	RS_TRY(check_memory(bytes));
	void *const p = emulate_take(device, bytes);
	if (p == NULL)
		return rs_fail(RS_ERESOURCE, "GPU: no memory for tables: emulated");
	pthread_mutex_lock(&piece_lock);
	while (i < PIECES_MAX && piece[i].p != NULL)
		i++;
	if (i == PIECES_MAX)
		abort();
	piece[i] = (struct piece){ p, bytes, device };
	pthread_mutex_unlock(&piece_lock);
	atomic_fetch_add(&bytes_of[device], bytes);
	atomic_fetch_add(&in_use, 1);
	memcpy(out, &p, sizeof(p));
	return RS_OK;
}

static void
gpu_free(void *p)
{
	size_t i = 0;

	pthread_mutex_lock(&piece_lock);
	while (i < PIECES_MAX && piece[i].p != p)
		i++;
	if (i == PIECES_MAX)
		abort();
	const int device = piece[i].device;
	atomic_fetch_sub(&bytes_of[device], piece[i].bytes);
	piece[i].p = NULL;
	pthread_mutex_unlock(&piece_lock);
	emulate_give(device, p);
	atomic_fetch_sub(&in_use, 1);
}

/* --- what goes on in a queue ------------------------------------------------------------ */

void
emulated_gpu_hold(struct gpu_queue *q, int (*is_over)(void *context), void *context)
{
	if (q->is_held != NULL)
		abort();
	q->is_held = is_over;
	q->holder = context;
}

void
emulated_gpu_read(struct gpu_queue *q, void *to, const void *from, size_t bytes)
{
	emulate_open_all(&q->memory);
	memcpy(to, from, bytes);
	emulate_close_all(&q->memory);
}

void
emulated_gpu_write(struct gpu_queue *q, void *to, const void *from, size_t bytes)
{
	emulate_open_all(&q->memory);
	memcpy(to, from, bytes);
	emulate_close_all(&q->memory);
}

static int
gpu_is_over(struct gpu_queue *q)
{
	const int over = q->memory.has_failed ? -1 : q->is_held == NULL ? 1
		: q->is_held(q->holder);

	if (over != 1 || q->is_held == NULL)
		return over;
	q->is_held = NULL;
	emulate_open_all(&q->memory);
	for (size_t i = 0; i < q->n_copies; i++)
		if (q->copy[i].to != NULL && q->copy[i].kept == NULL)
			keep(&q->copy[i]);
	emulate_close_all(&q->memory);
	return 1;
}

static void *
gpu_stream(struct gpu_queue *q)
{
	return q;
}

static enum rs_status
gpu_identity(int device, unsigned char out[GPU_IDENTITY])
{
	memset(out, 'a' + device, GPU_IDENTITY);
	return check_device(device);
}

static const struct gpu_link gpu_link = {
	.identity = gpu_identity, .stream = gpu_stream, .is_over = gpu_is_over,
};

/* --- marks ----------------------------------------------------------------------------- */

/* Kernels run when they are started, so what is before a mark is over: it is only counted. */
struct gpu_mark { int device; atomic_uint n_set; atomic_int waits; };

static atomic_uint n_sets, n_follows, n_repeats;
static void (*on_mark)(int device, unsigned n);

void
emulated_gpu_on_mark(void (*hook)(int device, unsigned n))
{
	on_mark = hook;
}

struct emulated_gpu_marks
emulated_gpu_marks(void)
{
	return (struct emulated_gpu_marks){ atomic_exchange(&n_sets, 0),
		atomic_exchange(&n_follows, 0), atomic_exchange(&n_repeats, 0) };
}

static enum rs_status
mark_open(int device, struct gpu_mark **out)
{
	RS_TRY(check_device(device));
	RS_TRY(memory_alloc(1, sizeof(**out), out));
	(*out)->device = device;
	atomic_fetch_add(&in_use, 1);
	return RS_OK;
}

static void
mark_close(struct gpu_mark *m)
{
	free(m);
	atomic_fetch_sub(&in_use, 1);
}

static void
mark_set(struct gpu_mark *m)
{
	assert(current->graph == NULL && !current->is_replaying);
	if (m->device != current->device)
		emulate_violate("a mark of GPU %d is set on GPU %d", m->device, current->device);
	if (atomic_exchange(&m->waits, 1))
		emulate_violate("a mark is set again, and nobody followed it where it was");
	if (on_mark != NULL)
		on_mark(current->device, current->n_marks);
	atomic_fetch_add(&n_repeats, current->n_marks > 0
		&& current->marked_at == current->memory.n_started);
	current->marked_at = current->memory.n_started;
	current->n_marks++;
	atomic_fetch_add(&m->n_set, 1);
	atomic_fetch_add(&n_sets, 1);
}

/* What was never set is followed at no cost, and not counted. */
static void
mark_follow(struct gpu_mark *m)
{
	assert(current->graph == NULL && !current->is_replaying);
	if (current->is_held != NULL)
		emulate_violate("a mark is followed in a queue in which something goes on");
	if (m->device != current->device)
		emulate_violate("a mark of GPU %d is followed on %d", m->device, current->device);
	atomic_store(&m->waits, 0);
	if (atomic_load(&m->n_set) > 0)
		atomic_fetch_add(&n_follows, 1);
}

static const struct gpu_order gpu_order = {
	.open = mark_open, .close = mark_close, .set = mark_set, .follow = mark_follow,
};

/* --- graphs ---------------------------------------------------------------------------- */

struct gpu_graph { struct emulate_recording calls; };

static atomic_uint n_replays, until_refusal;

unsigned
emulated_gpu_replays(void)
{
	return atomic_exchange(&n_replays, 0);
}

void
emulated_gpu_refuse_graph(unsigned n)
{
	atomic_store(&until_refusal, n);
}

/* After a failure nothing is kept either. */
static void
graph_begin(struct gpu_graph *graph)
{
	assert(current->graph == NULL && !current->is_replaying);
	current->is_replaying = graph != NULL;
	emulate_skip(graph != NULL);
	if (graph != NULL || current->memory.has_failed)
		return;
	current->graph = calloc(1, sizeof(*current->graph));
	emulate_record(&current->graph->calls);
}

static void
graph_destroy(struct gpu_graph *graph)
{
	if (graph == NULL)
		return;
	emulate_drop(&graph->calls);
	free(graph);
	atomic_fetch_sub(&in_use, 1);
}

static int
graph_end(struct gpu_graph **graph)
{
	struct gpu_graph *const made = current->graph;

	emulate_record(NULL);
	emulate_skip(0);
	if (made != NULL) {
		assert(*graph == NULL);
		*graph = made;
		atomic_fetch_add(&in_use, 1);
		current->graph = NULL;
	}
	if (made != NULL && atomic_load(&until_refusal) > 0
	    && atomic_fetch_sub(&until_refusal, 1) == 1) {
		graph_destroy(made);
		*graph = NULL;
		return 0;
	}
	if (current->is_replaying)
		atomic_fetch_add(&n_replays, 1);
	current->is_replaying = 0;
	if (*graph != NULL)
		emulate_replay(&(*graph)->calls);
	return 1;
}

static const struct gpu_replay gpu_replay = {
	.begin = graph_begin, .end = graph_end, .destroy = graph_destroy,
};

#define EMULATED .name = "emulated", .kernel = &kernel_emulated, .size = gpu_size, \
	.memory = gpu_memory, .open = gpu_open, .close = gpu_close, .use = gpu_use, \
	.upload = gpu_upload, .download = gpu_download, .wait = gpu_wait, \
	.host_alloc = gpu_host_alloc, .host_free = gpu_host_free, .alloc = gpu_alloc, \
	.free = gpu_free, .link = &gpu_link, .order = &gpu_order

const struct gpu gpu_emulated = { EMULATED, .replay = &gpu_replay };
const struct gpu gpu_emulated_direct = { EMULATED };
