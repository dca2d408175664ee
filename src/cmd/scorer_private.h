/*
 * What the files of the scorer share.
 */
#ifndef CMD_SCORER_PRIVATE_H
#define CMD_SCORER_PRIVATE_H

#include <sys/stat.h>

#include "base/memory.h"
#include "cmd/scorer.h"
#include "data/source.h"

/* What is made from one version of the model. */
struct scorer_part {
	uint64_t number;                   /* of the version                          */
	struct model *model;
	struct workers *workers;
	struct spec *spec;                 /* of the model, with the id column         */
	struct schema schema;
	struct parser *parser;
	struct batch batch;
};

/* What a scorer that follows CURRENT knows of it. */
struct scorer_follow {
	char  *current;                    /* its path; NULL: there is none to follow  */
	struct stat seen;
	double looked;                     /* clock_seconds() of the last look         */
	struct buffer head;                /* first rows of the stream, for layouts    */
};

struct scorer {
	struct scorer_options options;
	char *directory;                   /* of the model                             */
	uint64_t version;                  /* of part; CHECKPOINT_HERE: a directory's own */
	struct scorer_part *part;
	struct scorer_follow follow;
	float *logit;                      /* [capacity]                               */
	size_t capacity;
	struct text_list patterns, files;
	struct parser_tally tally;
	size_t n_warned;
	uint64_t unseen[2], n_rows;

	size_t file;                       /* next of files                            */
	struct source *source;
	struct parser_layout *layout;
	struct buffer text;                /* [begin, n) not yet parsed                */
	size_t begin;
	uint64_t line, offset;             /* of text[begin]                           */
	int at_end;
	uint64_t drop;                     /* bytes of a row too long, UINT64_MAX:
	                                      up to the next newline                  */
};

/* version: as checkpoint_load() takes it; *loaded may be NULL. */
enum rs_status scorer_part_open(const struct scorer *s, uint64_t version, uint64_t *loaded,
	struct scorer_part **out);
void scorer_part_close(struct scorer_part *part);

/* Before the model is loaded. */
enum rs_status scorer_follow_open(struct scorer *s);
void scorer_follow_close(struct scorer *s);
/* The stream begins with these bytes. */
enum rs_status scorer_follow_begin(struct scorer *s);
/* Takes up what CURRENT names, if that is another version than before and can be had;
 * looks at most every 100 ms. */
void scorer_follow_look(struct scorer *s);

#endif
