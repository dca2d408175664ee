/* Loading NCCL, and its types where the rest has none. */
#include <stddef.h>

#include "config.h"
#include "reduce/nccl.h"

#ifdef HAVE_NCCL
#include <dlfcn.h>
#include <nccl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)
#define LIBRARY    "libnccl.so." TEXT(NCCL_MAJOR)

_Static_assert(sizeof(ncclUniqueId) == NCCL_ID_BYTES, "an id is one of NCCL");
_Static_assert((int)ncclSuccess == 0 && (int)ncclInProgress == NCCL_IN_PROGRESS,
	"results are those of NCCL");

/* What is called: name, arguments. */
#define NCCL_TABLE(ROW) \
	ROW(ncclGetUniqueId,        (ncclUniqueId *)) \
	ROW(ncclCommInitRankConfig, (ncclComm_t *, int, ncclUniqueId, int, ncclConfig_t *)) \
	ROW(ncclAllReduce,          (const void *, void *, size_t, ncclDataType_t, ncclRedOp_t, \
		ncclComm_t, cudaStream_t)) \
	ROW(ncclSend,               (const void *, size_t, ncclDataType_t, int, ncclComm_t, \
		cudaStream_t)) \
	ROW(ncclRecv,               (void *, size_t, ncclDataType_t, int, ncclComm_t, \
		cudaStream_t)) \
	ROW(ncclGroupStart,         (void)) \
	ROW(ncclGroupEnd,           (void)) \
	ROW(ncclCommGetAsyncError,  (ncclComm_t, ncclResult_t *)) \
	ROW(ncclCommFinalize,       (ncclComm_t)) \
	ROW(ncclCommDestroy,        (ncclComm_t)) \
	ROW(ncclCommAbort,          (ncclComm_t))

static struct {
#define ROW(name, arguments) ncclResult_t (*name) arguments;
	NCCL_TABLE(ROW)
#undef ROW
	const char *(*ncclGetErrorString)(ncclResult_t);
	char missing[160];
} library;
static pthread_once_t load_once = PTHREAD_ONCE_INIT;

static int
make_id(struct nccl_id *out)
{
	return (int)library.ncclGetUniqueId((ncclUniqueId *)out);
}

/* Not blocking, so that even the start has an end. */
static int
start(void **comm, size_t n_ranks, const struct nccl_id *id, size_t rank)
{
	ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
	ncclUniqueId unique;

	config.blocking = 0;
	memcpy(&unique, id, sizeof(unique));
	return (int)library.ncclCommInitRankConfig((ncclComm_t *)comm, (int)n_ranks, unique,
		(int)rank, &config);
}

static int
sum(float *x, size_t n, void *comm, void *stream)
{
	return (int)library.ncclAllReduce(x, x, n, ncclFloat32, ncclSum, comm, stream);
}

static int
watch(void *comm, int *state)
{
	ncclResult_t found = ncclSuccess;
	const ncclResult_t result = library.ncclCommGetAsyncError(comm, &found);

	*state = (int)found;
	return (int)result;
}

static int
end(void *comm)
{
	return (int)library.ncclCommFinalize(comm);
}

static int
destroy(void *comm)
{
	return (int)library.ncclCommDestroy(comm);
}

static int
abort_comm(void *comm)
{
	return (int)library.ncclCommAbort(comm);
}

static int
group_begin(void)
{
	return (int)library.ncclGroupStart();
}

static int
group_end(void)
{
	return (int)library.ncclGroupEnd();
}

static int
send(const float *x, size_t n, size_t to, void *comm, void *stream)
{
	return (int)library.ncclSend(x, n, ncclFloat32, (int)to, comm, stream);
}

static int
receive(float *x, size_t n, size_t from, void *comm, void *stream)
{
	return (int)library.ncclRecv(x, n, ncclFloat32, (int)from, comm, stream);
}

static const char *
text(int failure)
{
	return library.ncclGetErrorString((ncclResult_t)failure);
}

static const struct nccl_calls calls = {
	.make_id = make_id, .start = start, .sum = sum, .watch = watch, .end = end,
	.destroy = destroy, .abort = abort_comm, .group_begin = group_begin,
	.group_end = group_end, .send = send, .receive = receive, .text = text,
};

static void
find(void *handle, const char *name, void **out)
{
	*out = dlsym(handle, name);
	if (*out == NULL)
		snprintf(library.missing, sizeof(library.missing), "%s has no %s", LIBRARY, name);
}

static void
load(void)
{
	/* Where the loader looks, then where it was when this was built. */
	void *handle = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL)
		handle = dlopen(NCCL_LIBDIR "/" LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		snprintf(library.missing, sizeof(library.missing), "%s was not found", LIBRARY);
		return;
	}
#define ROW(name, arguments) find(handle, #name, (void **)&library.name);
	NCCL_TABLE(ROW)
#undef ROW
	find(handle, "ncclGetErrorString", (void **)&library.ncclGetErrorString);
}

enum rs_status
nccl_load(const struct nccl_calls **out)
{
	pthread_once(&load_once, load);
	*out = &calls;
	if (library.missing[0] == '\0')
		return RS_OK;
	rs_fail(RS_EPEER, "NCCL is missing: %s", library.missing);
	return rs_hint("name its folder in LD_LIBRARY_PATH, or set placement.dense = auto");
}

#else

enum rs_status
nccl_load(const struct nccl_calls **out)
{
	*out = NULL;
	rs_fail(RS_EPEER, "NCCL is missing: this build has none (--with-nccl)");
	return rs_hint("set placement.dense = auto");
}

#endif
