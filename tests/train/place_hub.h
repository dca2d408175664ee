/*
 * The ranks of a run as threads of a test: their exchange, and tables that all share.
 *
 * The exchange waits for all ranks and then does the call for all; it is written apart from
 * those of src/reduce.  The shared tables are one local lookup behind a fetch, so pulls of
 * a training step that no fetch announced are noticed.
 */
#ifndef TESTS_TRAIN_PLACE_HUB_H
#define TESTS_TRAIN_PLACE_HUB_H

#include <stddef.h>

#include "train/place.h"

enum { HUB_RANKS = 8 };

struct place_hub;
/* Where the tables are: the trainer is left to choose, the ranks share the hub's, or each
 * has its own, opened by the hub. */
enum hub_tables { HUB_NONE, HUB_SHARED, HUB_OWN };
struct place_hub *place_hub_open(size_t n_ranks, enum hub_tables tables);
void place_hub_close(struct place_hub *hub);
/* The runs to come sum their gradients in buckets of so many bytes. */
void place_hub_cut(struct place_hub *hub, uint64_t bucket_bytes);
const struct train_place *place_hub_rank(struct place_hub *hub, size_t rank);
/* The run is over: whoever waits gives up. */
void place_hub_stop(struct place_hub *hub);
/* The n-th pull of this rank fails, from 1. */
void place_hub_fail_pull(struct place_hub *hub, size_t rank, size_t n);
/* The n-th call of this rank to the exchange, from 1; after: once all have come to it. */
void place_hub_fail_call(struct place_hub *hub, size_t rank, size_t n, int after);
size_t place_hub_calls(const struct place_hub *hub, size_t rank);
/* Shared tables are offered to go on from, but cannot be had then. */
void place_hub_boast(struct place_hub *hub);
void place_hub_set_round(struct place_hub *hub, uint32_t round);
void place_hub_fail_fetch(struct place_hub *hub, size_t rank, size_t n);

#endif
