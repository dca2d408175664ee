/*
 * A model directory of small versions, and children that are killed before the n-th change
 * of a file system: the program has no other place where it can be killed and leave
 * something new.
 */
#ifndef TESTS_PUBLISH_CASE_H
#define TESTS_PUBLISH_CASE_H

#include <stdint.h>

#include "spec/settings.h"
#include "train/checkpoint.h"

struct publish_case {
	char root[64], model[96], serve[96], log[96];
	char command[256];
	struct incremental_settings s;
	int warnings;
	char warning[1200];            /* the last                                    */
};

/* 1: as on a file system where two names cannot be exchanged. */
extern int publish_case_no_exchange;

int publish_case_set_up(void **state);
int publish_case_tear_down(void **state);

/* A complete version with one file whose bytes are `text`. */
void publish_case_version(struct publish_case *c, uint64_t version, enum checkpoint_state state,
	const char *text);
/* The model directory and that for serving begin anew. */
void publish_case_clear(struct publish_case *c);
int publish_case_exists(const struct publish_case *c, const char *path);
/* The text of a file below the root, "" when there is none; static. */
const char *publish_case_text(const struct publish_case *c, const char *path);
/* Where PUBLISH/current leads to, 0 for nowhere. */
uint64_t publish_case_linked(const struct publish_case *c);

/* A finished version whose file says "weights of N". */
void publish_case_final(struct publish_case *c, uint64_t n);
/* It becomes current; what follows is complete or not. */
void publish_case_accept(struct publish_case *c, uint64_t n, int complete);
void publish_case_repair(struct publish_case *c, int complete);
enum rs_status publish_case_roll_back(struct publish_case *c, uint64_t n, uint64_t *now);
/* Copy, link and command are those of CURRENT, and nothing is left behind. */
void publish_case_in_line(struct publish_case *c);
size_t publish_case_count(enum rs_status (*list)(const char *, uint64_t **, size_t *),
	const struct publish_case *c);

/* Runs act(context) in a child that is killed before its n-th change, counted from 1; 0: it
 * came to its end first. */
int publish_case_killed(void (*act)(void *), void *context, unsigned n);

#endif
