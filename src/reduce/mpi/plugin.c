/* The plug-in: compiled once for each MPI library that configure found. */
#include "reduce/mpi_plugin.h"

#include <limits.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(MPI_Request) <= sizeof(((struct mpi_message *)0)->handle), "handle size");

static int
plugin_init(void *self, int *rank, int *size)
{
	int provided, error;

	(void)self;
#ifdef OPEN_MPI
	/* Copying straight from the sender's memory, release 4.1 takes as much as was sent,
	 * whatever room there is. */
	(void)setenv("OMPI_MCA_btl_vader_single_copy_mechanism", "none", 0);
#endif
	error = MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided);
	if (error != MPI_SUCCESS)
		return error;
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	if (provided < MPI_THREAD_SERIALIZED)
		return MPI_ERR_UNSUPPORTED_OPERATION;
	error = MPI_Comm_rank(MPI_COMM_WORLD, rank);
	return error != MPI_SUCCESS ? error : MPI_Comm_size(MPI_COMM_WORLD, size);
}

static int
plugin_finalize(void *self)
{
	(void)self;
	return MPI_Finalize();
}

static int
keep(int error, const MPI_Request *request, int sending, struct mpi_message *out)
{
	out->active = error == MPI_SUCCESS;
	out->sending = sending;
	memcpy(out->handle, request, sizeof(*request));
	return error;
}

static int
plugin_send(void *self, const void *bytes, size_t n, int to, int tag, struct mpi_message *out)
{
	MPI_Request request;

	(void)self;
	if (n > INT_MAX)
		return MPI_ERR_COUNT;
	return keep(MPI_Isend(bytes, (int)n, MPI_BYTE, to, tag, MPI_COMM_WORLD, &request),
		&request, 1, out);
}

static int
plugin_receive(void *self, void *bytes, size_t n, int from, int tag, struct mpi_message *out)
{
	MPI_Request request;

	(void)self;
	if (n > INT_MAX)
		return MPI_ERR_COUNT;
	return keep(MPI_Irecv(bytes, (int)n, MPI_BYTE, from, tag, MPI_COMM_WORLD, &request),
		&request, 0, out);
}

static int
is_truncation(int error)
{
	int class = MPI_SUCCESS;

	return error != MPI_SUCCESS && MPI_Error_class(error, &class) == MPI_SUCCESS
		&& class == MPI_ERR_TRUNCATE;
}

static int
plugin_test(void *self, struct mpi_message *m, int *done, size_t *n)
{
	MPI_Request request;
	MPI_Status status;
	int count = 0, error;

	(void)self;
	memcpy(&request, m->handle, sizeof(request));
	error = MPI_Test(&request, done, &status);
	memcpy(m->handle, &request, sizeof(request));
	if (error != MPI_SUCCESS || *done)
		m->active = 0;
	if (is_truncation(error) && n != NULL) {
		*done = 1;
		*n = SIZE_MAX;
		return MPI_SUCCESS;
	}
	if (error == MPI_SUCCESS && *done && n != NULL) {
		error = MPI_Get_count(&status, MPI_BYTE, &count);
		*n = (size_t)count;
	}
	return error;
}

static void
plugin_cancel(void *self, struct mpi_message *m)
{
	MPI_Request request;

	(void)self;
	memcpy(&request, m->handle, sizeof(request));
	if (!m->sending)
		MPI_Cancel(&request);
	MPI_Request_free(&request);
	m->active = 0;
}

static void
plugin_abort(void *self, int code)
{
	(void)self;
	MPI_Abort(MPI_COMM_WORLD, code);
}

static void
plugin_error_text(void *self, int error, char *out, size_t capacity)
{
	char text[MPI_MAX_ERROR_STRING];
	int n = 0;

	(void)self;
	if (MPI_Error_string(error, text, &n) != MPI_SUCCESS)
		n = 0;
	snprintf(out, capacity, "%.*s", n, text);
	out[strcspn(out, "\n")] = '\0';
}

__attribute__((visibility("default")))
const struct mpi_plugin recsys_train_mpi_plugin = {
	.version = MPI_PLUGIN_VERSION, .library = PLUGIN_LIBRARY,
	.init = plugin_init, .finalize = plugin_finalize,
	.send = plugin_send, .receive = plugin_receive, .test = plugin_test,
	.cancel = plugin_cancel, .abort = plugin_abort, .error_text = plugin_error_text,
};
