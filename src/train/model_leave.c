/* A model whose GPU cannot be opened. */
#include <stdio.h>

#include "embed/lookup_device.h"
#include "train/model.h"

/* Layers of two bytes were laid out for it. */
enum rs_status
model_leave_gpu(struct model *m, const struct rs_failure *why)
{
	if (m->gpu == NULL || model_is_brain(spec_settings(m->spec)))
		return rs_failure_put(why);
	lookup_device_leave(&m->lookup);
	graph_set_gpu(m->graph, NULL);
	m->gpu = NULL;
	m->why_tables[0] = '\0';
	snprintf(m->why_host, sizeof(m->why_host), "%.*s", (int)sizeof(m->why_host) - 1,
		why->text);
	return model_set_precision(m);
}
