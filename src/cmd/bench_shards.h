/*
 * Parameter server shards in threads of this process, reached over sockets as those of a job
 * are, and the place of a model whose tables they hold.
 */
#ifndef CMD_BENCH_SHARDS_H
#define CMD_BENCH_SHARDS_H

#include "base/status.h"
#include "spec/settings.h"
#include "train/place.h"

struct bench_shards;

/* As many as cluster.ps says, at least one. */
enum rs_status bench_shards_open(const struct settings *s, struct bench_shards **out);
const struct train_place *bench_shards_place(const struct bench_shards *b);
/* After the model. */
void bench_shards_close(struct bench_shards *b);

#endif
