/* The command recommend: the best items of the catalogue for users. */
#include "cmd/command.h"

#include <stdlib.h>

#include "base/memory.h"
#include "cmd/predict.h"

#define TOP_DEFAULT 10

static enum rs_status
recommend_run(const struct arguments *a)
{
	const char **users, *file;
	size_t n = 0;

	if (a->n_positional != 1)
		return rs_fail(RS_EUSAGE, "recommend: wanted one model, got %zu",
			a->n_positional);
	if (!argument_given(a, "--users"))
		return rs_fail(RS_EUSAGE, "recommend: --users FILE says for whom");
	while (argument_nth(a, "--users", n) != NULL)
		n++;
	RS_TRY(memory_alloc(n, sizeof *users, &users));
	for (size_t i = 0; (file = argument_nth(a, "--users", i)) != NULL; i++)
		users[i] = file;
	const enum rs_status status = predict_best(a, users, n, TOP_DEFAULT);
	free(users);
	return status;
}

static const struct command_option option[] = {
	{ .name = "--users", .argument = "DATA", .repeats = 1, .text =
		"file or pattern with a row for each user, or - for standard input" },
	{ .name = "--top", .argument = "K", .dflt = "10", .text = "items for each user" },
	{ .name = "--seen", .argument = "FILE", .repeats = 1, .text =
		"items of the rows of this file are not given to their group" },
	{ .name = "--format", .argument = "tsv|json", .dflt = "tsv", .text =
		"form of a line; tsv: id or row number, then items; json: with scores" },
	{ .name = "--id", .argument = "COLUMN", .text =
		"begin each line with this column, by name or number; otherwise with that of "
		"data.id, or with the number of the row" },
	{ .name = "--predictions", .letter = 'p', .argument = "FILE", .dflt = "-",
		.text = "write to this file, which is complete or absent" },
	{ .name = "--on-bad-row", .argument = "fail|na", .dflt = "fail", .text =
		"what a row that cannot be read does; na: print NA for it and exit 3" },
	{ .name = NULL },
};

const struct command command_recommend = {
	.name = "recommend",
	.synopsis = "MODEL --users DATA... [--top K] [--seen FILE]... [--format tsv|json] "
		"[--id COLUMN]",
	.text = "Give the best items to users.",
	.option = option,
	.run = recommend_run,
};
