/*
 * The spec of a run of many processes: where everything goes is settled in it, so that all
 * nodes do the same, and its hash tells whether they have the same.
 */
#ifndef CMD_JOB_SPEC_H
#define CMD_JOB_SPEC_H

#include <stdint.h>

#include "base/status.h"
#include "place/placement.h"
#include "spec/spec.h"

enum rs_status job_spec_copy(const struct spec *spec, struct spec **out);
/* *kernel (static text): what this host computes with. */
enum rs_status job_spec_place(const struct spec *spec, const struct placement_host *host,
	struct placement *out, const char **kernel);
/* A copy in which nothing of [placement] is auto any more, but dense where the workers have to
 * find out together whether they can use NCCL. */
enum rs_status job_spec_settle(const struct spec *spec, const struct placement *p,
	struct spec **out);
/* Of the version of the program, the plan and all that makes the model; not of how nodes find each
 * other, of threads, nor of where one of them keeps its files. */
enum rs_status job_spec_hash(const struct spec *settled, const struct placement *p, uint64_t *out);

#endif
