/* oneDNN, loaded rather than linked, and what it can multiply here. */
#include "kernel/onednn/onednn.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "kernel/onednn/onednn_library.h"

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)
#define LIBRARY    "libdnnl.so." TEXT(DNNL_VERSION_MAJOR)

enum { MINOR_MIN = 6 };     /* uses AMX when it finds it                          */

struct onednn_library onednn_library;
static char missing[200], version[40];
static pthread_once_t load_once = PTHREAD_ONCE_INIT;

static void
start(void)
{
	const dnnl_version_t *v = onednn_library.dnnl_version();

	snprintf(version, sizeof(version), "oneDNN %d.%d.%d", v->major, v->minor, v->patch);
	if (v->major != DNNL_VERSION_MAJOR || v->minor < MINOR_MIN)
		snprintf(missing, sizeof(missing), "%s is %s, 2.6 or a later 2.x is wanted",
			LIBRARY, version);
	else if (onednn_library.dnnl_engine_create(&onednn_library.engine, dnnl_cpu, 0)
	    != dnnl_success)
		snprintf(missing, sizeof(missing), "%s does not start", version);
}

static void
load(void)
{
	void *library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);

	if (library == NULL) {
		snprintf(missing, sizeof(missing), "%s was not found", LIBRARY);
		return;
	}
#define ROW(name) \
	*(void **)&onednn_library.name = dlsym(library, #name); \
	if (onednn_library.name == NULL) \
		snprintf(missing, sizeof(missing), "%s has no %s", LIBRARY, #name);
	ONEDNN_TABLE(ROW)
#undef ROW
	*(void **)&onednn_library.set_threads = dlsym(library, "omp_set_num_threads");
	if (missing[0] == '\0')
		start();
}

enum rs_status
onednn_load(void)
{
	pthread_once(&load_once, load);
	if (missing[0] == '\0')
		return RS_OK;
	rs_fail(RS_ESPEC, "oneDNN is missing: %s", missing);
	return rs_hint("install it (Debian: libdnnl2)");
}

void
onednn_one_thread(void)
{
	if (onednn_library.set_threads != NULL)
		onednn_library.set_threads(1);
}

enum rs_status
onednn_fail(const char *call, dnnl_status_t code)
{
	if (code == dnnl_out_of_memory)
		return rs_fail(RS_ERESOURCE, "%s: %s is out of memory", version, call);
	if (code == dnnl_unimplemented)
		return rs_fail(RS_ESPEC, "%s has no code for this processor (%s)", version, call);
	return rs_fail(RS_ESPEC, "%s: %s fails with status %d", version, call, (int)code);
}

/* A layer is made and thrown away: whether there is code for all of its products. */
static enum rs_status
try_set(const struct narrow_set *set, const struct narrow_set **out)
{
	const struct narrow_shape shape = { .B = 64, .n = 64, .H = 64, .has_bias = 1,
		.act = KERNEL_ACT_RELU };
	struct narrow_lane *lane;
	struct narrow *w;

	RS_TRY(onednn_load());
	RS_TRY(set->open(set, &shape, &w));
	const enum rs_status status = set->lane_open(w, shape.B, &lane);
	if (status == RS_OK)
		set->lane_close(lane);
	set->close(w);
	*out = set;
	return status;
}

enum rs_status
onednn_narrow(const struct narrow_set **out)
{
	return try_set(&onednn_layer_brain, out);
}

enum rs_status
onednn_whole(const struct narrow_set **out)
{
	return try_set(&onednn_layer_whole, out);
}

enum rs_status
onednn_plain(const struct narrow_set **out)
{
	return try_set(&onednn_layer_plain, out);
}

const char *
onednn_version(void)
{
	return version;
}
