/*
 * Every key of the spec, once.  The order is the order of the printed spec, the
 * sample and the manual.
 */
#include "spec/option.h"

#include <math.h>

#define WHOLE_MAX 0x1p53     /* every whole number up to here has a double of its own */
/* A run may go on with another value: see struct option_row. */
#define FREE .is_free = 1
#define IN(member)    .offset = offsetof(struct settings, member)
#define FIELD(member) .offset = offsetof(struct field_settings, member)
#define NUMERIC  .types = 1u << FIELD_NUMERIC
#define ITEMS    .types = 1u << FIELD_MULTI | 1u << FIELD_SEQUENCE
#define IDS      .types = 1u << FIELD_CATEGORICAL | 1u << FIELD_MULTI | 1u << FIELD_SEQUENCE
#define SEQUENCE .types = 1u << FIELD_SEQUENCE
#define CROSS    .types = 1u << FIELD_CROSS
#define RANGE(low, high) .min = (low), .max = (high)
#define ABOVE(low, high) .min = (low), .max = (high), .above_min = 1

#define ROW_OPTIMIZERS "sgd adagrad rowwise_adagrad adam ftrl"
#define TABLE_KINDS    "hashed exact"
#define HASH_ROUNDS_MAX 8       /* of a hash stack                                */
#define ADMIT_COUNT_MAX 65535   /* cells of a sketch have 16 bits at most         */

const struct option_section option_section[] = {
	{ "model", "what is trained and where it goes", NULL },
	{ "data", "the rows: files, format, columns", NULL },
	{ "field", "one column of the data as the model sees it; [field C1..C26] makes 26 of "
	  "them", NULL },
	{ "embedding", "vectors of the categorical fields", NULL },
	{ "linear", "first-order weights; keys not given are those of [embedding]",
	  "fm wide_deep deepfm" },
	{ "dnn", "the hidden layers", "wide_deep deepfm dcn din dlrm" },
	{ "dcn", "the cross layers", "dcn" },
	{ "din", "the attention over histories", "din" },
	{ "dlrm", "the layers under the numeric fields", "dlrm" },
	{ "two_tower", "how user and item vectors are compared", "two_tower" },
	{ "tower user", "the tower of the user, query or context", "two_tower" },
	{ "tower item", "the tower of the item", "two_tower" },
	{ "items", "what an item is, and the items drawn as negatives", NULL },
	{ "eval", "what is measured on data.valid, and by eval", NULL },
	{ "train", "steps, rates, stopping, saving", NULL },
	{ "placement", "where arithmetic and tables are", NULL },
	{ "gpu", "the GPUs that train the dense network", NULL },
	{ "cluster", "the processes of a run", NULL },
	{ "incremental", "retraining by period: train --incremental", NULL },
	{ "runs", "the record of runs", NULL },
	{ NULL, NULL, NULL },
};

const struct option_row option_table[] = {
	{ "model", "type", OPTION_TEXT, NULL, IN(model.type),
	  .text = "the model; see recsys-train(1), MODELS", .example = "deepfm" },
	{ "model", "path", OPTION_PATH, NULL, IN(model.path), FREE,
	  .text = "model directory; -f overrides it", .example = "model/ctr" },
	{ "model", "loss", OPTION_CHOICE, "logloss", IN(model.loss),
	  .choices = "logloss mse softmax sampled_softmax full_softmax bpr ccl",
	  .text = "what is minimised; the last five are of two_tower: softmax over the items of "
	  "the batch, over drawn items, over all items, pairwise ranking, cosine contrastive" },

	{ "data", "train", OPTION_PATH_LIST, NULL, IN(data.train), FREE,
	  .text = "training files; globs sort, - is standard input, gzip is recognised",
	  .example = "day_*.tsv.gz" },
	{ "data", "valid", OPTION_PATH_LIST, NULL, IN(data.valid),
	  .text = "files scored after every epoch; early stop and the best weights follow them",
	  .example = "valid.tsv" },
	{ "data", "command", OPTION_TEXT, NULL, IN(data.command), FREE,
	  .text = "shell command whose output is the training rows; its exit status is checked",
	  .example = "\"zstd -dc log.zst\"" },
	{ "data", "format", OPTION_CHOICE, "tsv", IN(data.format),
	  .choices = "tsv csv libsvm libffm libfm tfrecord lists",
	  .text = "how rows are written; lists: a line is a user and the user's items, each item "
	  "a row" },
	{ "data", "separator", OPTION_BYTE, NULL, IN(data.separator),
	  .text = "between columns; by default a tab in tsv, a comma in csv, blanks or tabs in "
	  "lists",
	  .example = "space" },
	{ "data", "header", OPTION_CHOICE, "auto", IN(data.header), .choices = "no yes auto",
	  .text = "whether line 1 names the columns; auto: it does if its label cell is no label" },
	{ "data", "quote", OPTION_CHOICE, "auto", IN(data.quote), .choices = "no yes auto",
	  .text = "whether cells may be in double quotes as in RFC 4180; auto: in csv" },
	{ "data", "label", OPTION_TEXT, NULL, IN(data.label),
	  .text = "column of the label, by name or by number from 1; without it every row is a "
	  "positive one, which is for items.negatives and the losses of two_tower",
	  .example = "1" },
	{ "data", "label_values", OPTION_TEXT_LIST, NULL, IN(data.label_values),
	  .text = "the negative and the positive label; anything else is a bad row; by default 0,1",
	  .example = "-1,1" },
	{ "data", "label_type", OPTION_CHOICE, "binary", IN(data.label_type),
	  .choices = "binary probability real",
	  .text = "two classes, a number from 0 to 1, or any number" },
	{ "data", "weight", OPTION_TEXT, NULL, IN(data.weight),
	  .text = "column of the weight of a row; 0 leaves the row out, negative is an error",
	  .example = "weight" },
	{ "data", "group", OPTION_TEXT, NULL, IN(data.group),
	  .text = "column of the user or query, for metrics by group; two_tower: by default "
	  "that of the first field of [tower user]", .example = "user" },
	{ "data", "time", OPTION_TEXT, NULL, IN(data.time),
	  .text = "column of the time of a row: seconds, milli- or microseconds since 1970, or "
	  "2026-11-29T14:00:00Z, in UTC when no zone is given", .example = "timestamp" },
	{ "data", "id", OPTION_TEXT, NULL, IN(data.id), FREE,
	  .text = "column that names a row in the output of predict", .example = "impression" },
	{ "data", "missing", OPTION_TEXT_LIST, "\"\"", IN(data.missing),
	  .text = "cells that mean no value", .example = "\"\",NULL,\\N" },
	{ "data", "trim", OPTION_BOOL, "no", IN(data.trim),
	  .text = "csv, tsv: blanks around a cell or a name do not belong to it" },
	{ "data", "on_bad_row", OPTION_CHOICE, "fail", IN(data.on_bad_row), FREE,
	  .choices = "fail skip",
	  .text = "what a row that cannot be read does" },
	{ "data", "max_bad_rows", OPTION_SIZE, "1000", IN(data.max_bad_rows), FREE,
	  RANGE(0, WHOLE_MAX), .unit = "rows",
	  .text = "more bad rows than this end the run when they are skipped" },
	{ "data", "max_line", OPTION_SIZE, "16M", IN(data.max_line), RANGE(1024, 0x1p30),
	  .unit = "bytes",
	  .text = "a longer row is a bad row" },
	{ "data", "index_base", OPTION_INT, NULL, IN(data.index_base), RANGE(0, 1),
	  .text = "number of the first feature; libsvm and libffm need it", .example = "1" },
	{ "data", "shuffle", OPTION_BOOL, "yes", IN(data.shuffle),
	  .text = "permute the rows by train.seed, anew in every epoch; never for standard input "
	  "and commands" },
	{ "data", "shuffle_window", OPTION_SIZE, "16M", IN(data.shuffle_window), RANGE(1, 0x1p40),
	  .unit = "bytes",
	  .text = "text whose rows are permuted together" },
	{ "data", "row_group", OPTION_SIZE, "256k", IN(data.row_group), RANGE(1, 0x1p40),
	  .unit = "bytes",
	  .text = "text that stays together when the file is permuted" },
	{ "data", "threads", OPTION_INT, "0", IN(data.threads), FREE, RANGE(0, 4096),
	  .text = "threads that read and parse; 0: chosen for the machine" },
	{ "data", "cache", OPTION_PATH, NULL, IN(data.cache), FREE,
	  .text = "directory of parsed rows: train makes a file there for each whole input file, "
	  "of data.valid, too, and reads it instead of the text as long as it is of that text "
	  "and these keys; not for standard input and commands", .example = "cache" },

	{ "field", "column", OPTION_TEXT, NULL, FIELD(column),
	  .text = "column by name or by number from 1; A..B in a range; by default the field's "
	  "name; of tfrecord the feature",
	  .example = "15..40" },
	{ "field", "type", OPTION_CHOICE, "categorical", FIELD(type),
	  .choices = "categorical numeric multi sequence cross",
	  .text = "one id, one number, a bag of ids, ids in time order, or other fields taken "
	  "together" },
	{ "field", "transform", OPTION_CHOICE, "none", FIELD(transform), NUMERIC,
	  .choices = "none log1p standardize bucketize",
	  .text = "numeric: sign(x) log(1+|x|), (x-mean)/stddev, or the number of its interval "
	  "as an id" },
	{ "field", "buckets", OPTION_SIZE, NULL, FIELD(buckets), .inherits = "embedding.buckets",
	  RANGE(1, 0x1p40),
	  .unit = "rows",
	  .text = "size of a hashed table, without the row for missing values; exact: rows to "
	  "expect when memory is planned",
	  .example = "1M" },
	{ "field", "dim", OPTION_INT, NULL, FIELD(dim), .inherits = "embedding.dim", RANGE(1, 4096),
	  .text = "width of the vector" },
	{ "field", "share", OPTION_TEXT, NULL, FIELD(share), IDS,
	  .text = "use the table of this field: one text has one id and one vector in both",
	  .example = "C2" },
	{ "field", "missing", OPTION_TEXT_LIST, NULL, FIELD(missing),
	  .text = "cells that mean no value, instead of data.missing", .example = "\"\",0" },
	{ "field", "missing_value", OPTION_NUMBER, "0", FIELD(missing_value), NUMERIC,
	  RANGE(-INFINITY, INFINITY),
	  .text = "numeric: what a missing cell counts as, after the transform; 0: it has a "
	  "vector of its own" },
	{ "field", "multi_separator", OPTION_BYTE, "pipe", FIELD(multi_separator), ITEMS,
	  .text = "multi, sequence: between the items of a cell" },
	{ "field", "weight_separator", OPTION_BYTE, NULL, FIELD(weight_separator), ITEMS,
	  .text = "multi: between an item and its weight", .example = "\":\"" },
	{ "field", "max_length", OPTION_SIZE, "100", FIELD(max_length), ITEMS, RANGE(1, 0x1p20),
	  .unit = "items",
	  .text = "multi, sequence: of a longer cell the last items are kept" },
	{ "field", "combiner", OPTION_CHOICE, "mean", FIELD(combiner), ITEMS,
	  .choices = "sum mean sqrtn max last",
	  .text = "multi, sequence: how the vectors of the items become one; last: mean of the "
	  "last_k newest" },
	{ "field", "last_k", OPTION_SIZE, "1", FIELD(last_k), ITEMS, RANGE(1, 0x1p20),
	  .unit = "items", .text = "combiner last: how many items" },
	{ "field", "history", OPTION_TEXT, "history", FIELD(history), SEQUENCE,
	  .text = "sequences of one name have one length in a row, item by item, and din attends "
	  "to them together; a model other than din takes a sequence without it alone",
	  .example = "clicks" },
	{ "field", "fields", OPTION_TEXT_LIST, NULL, FIELD(fields), CROSS,
	  .text = "cross: the fields taken together, ids or bucketized numbers",
	  .example = "city,hour" },
	{ "field", "part", OPTION_CHOICE, "both", FIELD(part), .choices = "both wide deep",
	  .text = "whether the field has a first-order weight (wide), a vector (deep), or both; "
	  "a cross is wide unless told otherwise; for the models that use [linear]" },
	{ "field", "unique", OPTION_BOOL, "no", FIELD(unique), ITEMS,
	  .text = "multi, sequence: of repeated items only the last counts" },
	{ "field", "fold_case", OPTION_BOOL, "no", FIELD(fold_case), IDS,
	  .text = "A and a are the same (ASCII letters)" },
	{ "field", "id_type", OPTION_CHOICE, "text", FIELD(id_type), IDS, .choices = "text int",
	  .text = "int: 7, 07 and +7 are the same id, anything else is a bad row" },
	{ "field", "boundaries", OPTION_NUMBER_LIST, NULL, FIELD(boundaries), NUMERIC,
	  RANGE(-INFINITY, INFINITY),
	  .text = "bucketize: ascending limits of the intervals; by default quantiles of the "
	  "training rows",
	  .example = "1,5,20,100" },
	{ "field", "quantiles", OPTION_INT, "32", FIELD(quantiles), NUMERIC, RANGE(2, 65536),
	  .text = "bucketize: how many intervals when boundaries are not given" },
	{ "field", "mean", OPTION_NUMBER, "0", FIELD(mean), NUMERIC, RANGE(-INFINITY, INFINITY),
	  .text = "standardize: the mean; used when stddev is given" },
	{ "field", "stddev", OPTION_NUMBER, "0", FIELD(stddev), NUMERIC, RANGE(0, INFINITY),
	  .text = "standardize: the standard deviation; 0: both come from a first pass" },
	{ "field", "table", OPTION_CHOICE, NULL, FIELD(table), .inherits = "embedding.table",
	  .choices = TABLE_KINDS,
	  .text = "hashed: fixed buckets; exact: grows, no collisions" },
	{ "field", "rounds", OPTION_INT, NULL, FIELD(rounds), .inherits = "embedding.rounds",
	  RANGE(1, HASH_ROUNDS_MAX), .unit = "rows",
	  .text = "hashed table: the vector of a value is the sum of so many rows, each of a hash "
	  "of its own; two values are one only when all their rows are the same" },
	{ "field", "optimizer", OPTION_CHOICE, NULL, FIELD(optimizer),
	  .inherits = "embedding.optimizer",
	  .choices = ROW_OPTIMIZERS, .text = "row optimizer of the table" },
	{ "field", "learning_rate", OPTION_NUMBER, NULL, FIELD(learning_rate),
	  .inherits = "embedding.learning_rate",
	  ABOVE(0, 1e6), .text = "own rate of the table; train.schedule then leaves it alone" },
	{ "field", "l2", OPTION_NUMBER, NULL, FIELD(l2), .inherits = "embedding.l2", RANGE(0, 1e6),
	  .text = "L2 on touched rows" },

#define ROW_OPTIMIZER(section, DFLT) \
	{ #section, "optimizer", OPTION_CHOICE, DFLT("adagrad", optimizer), IN(section.optimizer.kind), \
	  .choices = ROW_OPTIMIZERS, .text = "row optimizer" }, \
	{ #section, "learning_rate", OPTION_NUMBER, DFLT("0.02", learning_rate), \
	  IN(section.optimizer.learning_rate), ABOVE(0, 1e6), .text = "rate of the row optimizer" }, \
	{ #section, "initial_accumulator", OPTION_NUMBER, DFLT("0.1", initial_accumulator), \
	  IN(section.optimizer.initial_accumulator), RANGE(0, 1e6), \
	  .text = "adagrad, rowwise_adagrad, ftrl: where the sum of squares starts" }, \
	{ #section, "epsilon", OPTION_NUMBER, DFLT("1e-7", epsilon), IN(section.optimizer.epsilon), RANGE(0, 1), \
	  .text = "adagrad, rowwise_adagrad, adam: w -= rate g / (sqrt(s) + epsilon)" }, \
	{ #section, "beta1", OPTION_NUMBER, DFLT("0.9", beta1), IN(section.optimizer.beta1), RANGE(0, 0.999999), \
	  .text = "adam: decay of the mean" }, \
	{ #section, "beta2", OPTION_NUMBER, DFLT("0.999", beta2), IN(section.optimizer.beta2), \
	  RANGE(0, 0.99999999), .text = "adam: decay of the mean square" }, \
	{ #section, "l1", OPTION_NUMBER, DFLT("0", l1), IN(section.optimizer.l1), RANGE(0, 1e6), \
	  .text = "L1 on touched rows, once a row and step" }, \
	{ #section, "l2", OPTION_NUMBER, DFLT("0", l2), IN(section.optimizer.l2), RANGE(0, 1e6), \
	  .text = "L2 on touched rows, once a row and step" }, \
	{ #section, "ftrl_beta", OPTION_NUMBER, DFLT("1", ftrl_beta), IN(section.optimizer.ftrl_beta), \
	  RANGE(0, 1e6), .text = "ftrl: beta" }, \
	{ #section, "ftrl_l1", OPTION_NUMBER, DFLT("0", ftrl_l1), IN(section.optimizer.ftrl_l1), \
	  RANGE(0, 1e6), .text = "ftrl: lambda 1" }, \
	{ #section, "ftrl_l2", OPTION_NUMBER, DFLT("0", ftrl_l2), IN(section.optimizer.ftrl_l2), \
	  RANGE(0, 1e6), .text = "ftrl: lambda 2" }, \
	{ #section, "ftrl_power", OPTION_NUMBER, DFLT("0.5", ftrl_power), IN(section.optimizer.ftrl_power), \
	  RANGE(0, 1), .text = "ftrl: rate falls with the sum of squares to this power" },
#define OWN(value, key)       value
#define EMBEDDINGS(value, key) NULL, .inherits = "embedding." #key

	{ "embedding", "dim", OPTION_INT, "16", IN(embedding.dim), RANGE(1, 4096),
	  .text = "width of the vectors" },
	{ "embedding", "storage", OPTION_CHOICE, "fp32", IN(embedding.storage),
	  .choices = "fp32 bf16 fp16", .text = "weights of vectors wider than 1, in memory and in "
	  "files; bf16, fp16: two bytes each, in updates rounded at random, right on average" },
	{ "embedding", "table", OPTION_CHOICE, "hashed", IN(embedding.table),
	  .choices = TABLE_KINDS,
	  .text = "hashed: fixed buckets; exact: grows, no collisions" },
	{ "embedding", "buckets", OPTION_SIZE, "1M", IN(embedding.buckets), RANGE(1, 0x1p40),
	  .unit = "rows",
	  .text = "size of the hashed table of a field that gives none; exact: how many rows to "
	  "expect when memory is planned" },
	{ "embedding", "rounds", OPTION_INT, "1", IN(embedding.rounds), RANGE(1, HASH_ROUNDS_MAX),
	  .unit = "rows",
	  .text = "hashed tables: rows that are summed to the vector of a value, of as many "
	  "hashes; 2 for tables with fewer buckets than values" },
	{ "embedding", "round_scale", OPTION_CHOICE, "sum", IN(embedding.round_scale),
	  .choices = "sum sqrt",
	  .text = "rounds: the vector is the sum of the rows, or that divided by the root of their "
	  "number" },
	ROW_OPTIMIZER(embedding, OWN)
	{ "embedding", "init_stddev", OPTION_NUMBER, "1e-4", IN(embedding.init_stddev), RANGE(0,
	  100),
	  .text = "rows start as normal numbers with this standard deviation" },
	{ "embedding", "decay_every", OPTION_INT, "0", IN(embedding.decay_every),
	  RANGE(0, 1000000000000), .unit = "steps", .example = "100000",
	  .text = "adagrad, rowwise_adagrad, of [linear] too: after so many steps of the model's "
	  "life, and again, sums of squares are multiplied by embedding.decay, so that training "
	  "that goes on for ever goes on learning; 0: never" },
	{ "embedding", "decay", OPTION_NUMBER, "0.9", IN(embedding.decay), ABOVE(0, 1),
	  .text = "what is then left of a sum of squares, which does not fall below "
	  "initial_accumulator" },
	{ "embedding", "admit", OPTION_CHOICE, "all", IN(embedding.admit),
	  .choices = "all count sketch probability",
	  .text = "exact tables: which ids get a row: all; those that occurred admit_count times, "
	  "counted exactly or in a sketch of admit_cells cells; a share of them; the others "
	  "are zeros" },
	{ "embedding", "admit_count", OPTION_INT, "10", IN(embedding.admit_count),
	  RANGE(1, ADMIT_COUNT_MAX), .unit = "occurrences",
	  .text = "admit = count, sketch: with so many an id gets a row, which learns from the "
	  "next step on" },
	{ "embedding", "admit_probability", OPTION_NUMBER, "0.1", IN(embedding.admit_probability),
	  ABOVE(0, 1),
	  .text = "admit = probability: chance of an id to get a row each time it occurs" },
	{ "embedding", "admit_cells", OPTION_SIZE, "16M", IN(embedding.admit_cells),
	  RANGE(256, 0x1p40), .unit = "cells",
	  .text = "admit = sketch: counters of a table, of 1 byte, of 2 when admit_count is above "
	  "255; full ones are halved; admit = count: the most ids that wait in a table, 16 bytes "
	  "each or little more; those seen longest ago are forgotten" },
	{ "embedding", "expire_after", OPTION_SECONDS, "0", IN(embedding.expire_after),
	  RANGE(0, 3e9), .example = "30d",
	  .text = "exact tables: a row goes when the newest row of the data (data.time) is so much "
	  "newer than it was when the row was trained last, a minute more at most; counted from "
	  "the newest row trained so far, but no row that is later than the middle one of its "
	  "batch by more than a tenth of this, so that a few wrong times do no harm; these are "
	  "told; 0: never" },
	{ "embedding", "expire_steps", OPTION_INT, "0", IN(embedding.expire_steps),
	  RANGE(0, 4e9), .unit = "steps", .example = "1000000",
	  .text = "exact tables: a row goes when more steps than this passed since the last that "
	  "trained it; 0: never" },
	{ "embedding", "max_bytes", OPTION_SIZE, "0", IN(embedding.max_bytes),
	  RANGE(0, WHOLE_MAX), .unit = "bytes", .example = "4G",
	  .text = "exact tables: memory that the rows of a field take at most, its vectors and its "
	  "first-order weights together; beyond it rows go; 0: no limit" },
	{ "embedding", "evict", OPTION_CHOICE, "lru", IN(embedding.evict), .choices = "lru lfu",
	  .text = "which go: those trained longest ago, or least often" },
	{ "embedding", "resident", OPTION_SIZE, "0", IN(embedding.resident), FREE,
	  RANGE(0, WHOLE_MAX), .unit = "bytes", .example = "8G",
	  .text = "hashed tables that are larger than memory: what rows of all tables together "
	  "take of it at most, in each process; the others are in a file in embedding.spill, which "
	  "has no name and goes with the process; small tables stay in memory whole; every row of "
	  "the others takes 4 bytes more, trained or not; a row that was never trained is in no "
	  "file; 0: all rows are in memory" },
	{ "embedding", "spill", OPTION_PATH, "/var/tmp", IN(embedding.spill), FREE,
	  .text = "directory for the rows that embedding.resident has no room for, on a fast disk "
	  "with room for all rows that are ever trained" },

	ROW_OPTIMIZER(linear, EMBEDDINGS)
	{ "linear", "init_stddev", OPTION_NUMBER, NULL, IN(linear.init_stddev),
	  .inherits = "embedding.init_stddev", RANGE(0, 100),
	  .text = "weights start as normal numbers with this standard deviation" },

#define ACTIVATIONS "none relu prelu dice tanh sigmoid gelu"
#define MLP(section, member, HIDDEN, TEXT) \
	{ section, "hidden", OPTION_INT_LIST, HIDDEN, IN(member.hidden), RANGE(1, 65536), \
	  .text = TEXT }, \
	{ section, "activation", OPTION_CHOICE, "relu", IN(member.activation), \
	  .choices = ACTIVATIONS, .text = "after every hidden layer" }, \
	{ section, "dropout", OPTION_NUMBER, "0", IN(member.dropout), RANGE(0, 0.99), \
	  .text = "share of the units that is dropped in training" }, \
	{ section, "batch_norm", OPTION_BOOL, "no", IN(member.batch_norm), \
	  .text = "batch normalisation between layer and activation" }, \
	{ section, "batch_norm_momentum", OPTION_NUMBER, "0.9", IN(member.batch_norm_momentum), \
	  RANGE(0, 0.999999), .text = "share of the running statistics that a step keeps" }, \
	{ section, "batch_norm_epsilon", OPTION_NUMBER, "1e-5", IN(member.batch_norm_epsilon), \
	  ABOVE(0, 1), .text = "added to the variance" }, \
	{ section, "l2", OPTION_NUMBER, "0", IN(member.l2), RANGE(0, 1e6), \
	  .text = "L2 on the weights of the layers" }, \
	{ section, "init", OPTION_CHOICE, "xavier_uniform", IN(member.init), \
	  .choices = "xavier_uniform xavier_normal he_uniform he_normal", \
	  .text = "how the weights start" },
#define TOWER(section, i) \
	{ section, "fields", OPTION_TEXT_LIST, NULL, IN(tower[i].fields), \
	  .text = "fields of this tower", .example = "age,city" }, \
	MLP(section, tower[i].dnn, "256,128,64", \
	  "units of the layers; the last one is the vector and has no activation")

	MLP("dnn", dnn, "400,400,400", "units of the hidden layers")

	{ "dcn", "version", OPTION_CHOICE, "v2", IN(dcn.version), .choices = "v1 v2",
	  .text = "v1: a vector a layer (Wang 2017); v2: a matrix a layer (Wang 2021)" },
	{ "dcn", "layers", OPTION_INT, "3", IN(dcn.layers), RANGE(1, 64), .text = "cross layers" },
	{ "dcn", "rank", OPTION_INT, "0", IN(dcn.rank), RANGE(0, 65536),
	  .text = "v2: rank of the matrices; 0: full" },
	{ "dcn", "experts", OPTION_INT, "1", IN(dcn.experts), RANGE(1, 64),
	  .text = "v2 of low rank: matrices a layer, mixed by a softmax gate" },
	{ "dcn", "structure", OPTION_CHOICE, "parallel", IN(dcn.structure),
	  .choices = "parallel stacked",
	  .text = "whether the hidden layers stand beside the cross layers or behind them" },

	{ "din", "attention", OPTION_INT_LIST, "64", IN(din.attention), RANGE(1, 65536),
	  .text = "hidden units of the attention unit" },
	{ "din", "activation", OPTION_CHOICE, "prelu", IN(din.activation), .choices = ACTIVATIONS,
	  .text = "in the attention unit; dice: momentum and epsilon are those of dnn.batch_norm" },
	{ "din", "softmax", OPTION_BOOL, "no", IN(din.softmax),
	  .text = "the weights of a history sum to 1" },
	{ "din", "pooling", OPTION_CHOICE, "attention", IN(din.pooling),
	  .choices = "attention mean sum", .text = "mean, sum: no attention, for comparison" },

	{ "dlrm", "bottom", OPTION_INT_LIST, "256,64", IN(dlrm.bottom), RANGE(1, 65536),
	  .text = "units of the layers under the numeric fields, before one of embedding.dim" },

	{ "two_tower", "similarity", OPTION_CHOICE, "cosine", IN(two_tower.similarity),
	  .choices = "cosine dot", .text = "how two vectors are compared" },
	{ "two_tower", "temperature", OPTION_NUMBER, "0.05", IN(two_tower.temperature),
	  ABOVE(0, 1e6), .text = "similarities are divided by it" },
	{ "two_tower", "learn_temperature", OPTION_BOOL, "no", IN(two_tower.learn_temperature),
	  .text = "whether temperature is only where training starts" },
	{ "two_tower", "logq", OPTION_BOOL, "yes", IN(two_tower.logq),
	  .text = "softmax, sampled_softmax: subtract the logarithm of how often an item comes "
	  "up as a negative" },
	{ "two_tower", "logq_rate", OPTION_NUMBER, "0.01", IN(two_tower.logq_rate), ABOVE(0, 1),
	  .text = "softmax: rate of the streaming estimate of frequencies" },
	{ "two_tower", "margin", OPTION_NUMBER, "0.4", IN(two_tower.margin), RANGE(-1, 1),
	  .text = "ccl: a negative above this cosine costs" },
	{ "two_tower", "negative_weight", OPTION_NUMBER, "150", IN(two_tower.negative_weight),
	  RANGE(0, 1e6), .text = "ccl: weight of the mean over the negatives" },
	TOWER("tower user", TOWER_USER)
	TOWER("tower item", TOWER_ITEM)

	{ "items", "key", OPTION_TEXT, NULL, IN(items.key),
	  .text = "field that names the item; two_tower: by default the first of [tower item]",
	  .example = "item" },
	{ "items", "fields", OPTION_TEXT_LIST, NULL, IN(items.fields),
	  .text = "fields that belong to the item; two_tower: those of [tower item]; else key",
	  .example = "item,category" },
	{ "items", "negatives", OPTION_SIZE, "0", IN(items.negatives), RANGE(0, 0x1p20),
	  .unit = "items",
	  .text = "items drawn for every row; sampled_softmax: for every batch; logloss: each "
	  "becomes a row of label 0" },
	{ "items", "sample", OPTION_CHOICE, "uniform", IN(items.sample),
	  .choices = "uniform popularity",
	  .text = "popularity: in proportion to training rows to the power alpha" },
	{ "items", "alpha", OPTION_NUMBER, "0.75", IN(items.alpha), RANGE(0, 2),
	  .text = "popularity: the power" },
	{ "items", "within", OPTION_TEXT, NULL, IN(items.within),
	  .text = "a drawn item has the row's value in this field of the item",
	  .example = "category" },

	{ "eval", "metrics", OPTION_TEXT_LIST, NULL, IN(eval.metrics),
	  .text = "auc logloss mse gauc hr@K ndcg@K mrr@K recall@K; by default auc,logloss or "
	  "mse; with rows of positives only recall@20,ndcg@20 of the catalogue or hr@10,ndcg@10 "
	  "of rows",
	  .example = "auc,gauc,ndcg@10" },
	{ "eval", "candidates", OPTION_CHOICE, "rows", IN(eval.candidates),
	  .choices = "rows catalogue",
	  .text = "what is ranked for a group: its rows, or all items; two_tower: all items, "
	  "others: rows" },
	{ "eval", "mask_seen", OPTION_BOOL, "yes", IN(eval.mask_seen),
	  .text = "catalogue: items of the user's training rows are not ranked" },

	{ "train", "epochs", OPTION_INT, "1", IN(train.epochs), RANGE(1, 1e6),
	  .text = "passes over the rows" },
	{ "train", "batch_size", OPTION_SIZE, "4096", IN(train.batch_size), RANGE(1, 0x1p24),
	  .unit = "rows",
	  .text = "rows of a step, over all threads" },
	{ "train", "slots", OPTION_INT, "0", IN(train.slots), RANGE(0, 1024),
	  .text = "parts of a batch, whatever the threads; 0: the largest power of two up to 8 "
	  "that leaves 512 rows" },
	{ "train", "optimizer", OPTION_CHOICE, "adam", IN(train.optimizer),
	  .choices = "sgd momentum adagrad adam adamw", .text = "optimizer of the dense weights" },
	{ "train", "learning_rate", OPTION_NUMBER, "0.001", IN(train.learning_rate), ABOVE(0, 1e6),
	  .text = "rate of the dense weights" },
	{ "train", "momentum", OPTION_NUMBER, "0.9", IN(train.momentum), RANGE(0, 0.999999),
	  .text = "momentum: decay" },
	{ "train", "beta1", OPTION_NUMBER, "0.9", IN(train.beta1), RANGE(0, 0.999999),
	  .text = "adam, adamw: decay of the mean" },
	{ "train", "beta2", OPTION_NUMBER, "0.999", IN(train.beta2), RANGE(0, 0.99999999),
	  .text = "adam, adamw: decay of the mean square" },
	{ "train", "epsilon", OPTION_NUMBER, "1e-8", IN(train.epsilon), ABOVE(0, 1),
	  .text = "adam, adamw, adagrad: added to the root" },
	{ "train", "weight_decay", OPTION_NUMBER, "0", IN(train.weight_decay), RANGE(0, 1e6),
	  .text = "adamw: decay of the weights, apart from the gradient" },
	{ "train", "schedule", OPTION_CHOICE, "constant", IN(train.schedule),
	  .choices = "constant warmup_linear cosine plateau", .text = "how the rates change" },
	{ "train", "warmup_steps", OPTION_SIZE, "0", IN(train.warmup_steps), RANGE(0, WHOLE_MAX),
	  .unit = "steps",
	  .text = "warmup_linear, cosine: the rates grow from 0 so long" },
	{ "train", "decay_steps", OPTION_SIZE, "0", IN(train.decay_steps), RANGE(0, WHOLE_MAX),
	  .unit = "steps",
	  .text = "warmup_linear, cosine: length of the fall; 0: warmup_linear does not fall, "
	  "cosine to the end" },
	{ "train", "decay_floor", OPTION_NUMBER, "0", IN(train.decay_floor), RANGE(0, 1),
	  .text = "share of the rate that is left at the end of a fall" },
	{ "train", "plateau_factor", OPTION_NUMBER, "0.1", IN(train.plateau_factor), ABOVE(0, 1),
	  .text = "plateau: the rates are multiplied by it" },
	{ "train", "plateau_patience", OPTION_INT, "1", IN(train.plateau_patience), RANGE(1, 1e6),
	  .unit = "epochs",
	  .text = "plateau: after so many epochs without gain" },
	{ "train", "lr_scaling", OPTION_CHOICE, "none", IN(train.lr_scaling),
	  .choices = "none linear",
	  .text = "linear: rates times batch_size / lr_base_batch" },
	{ "train", "lr_base_batch", OPTION_SIZE, "4096", IN(train.lr_base_batch), RANGE(1, 0x1p24),
	  .unit = "rows",
	  .text = "batch for which the rates are meant" },
	{ "train", "precision", OPTION_WORD, "fp32", IN(train.precision), .choices = "fp32 bf16",
	  .text = "of what layers multiply in training; bf16: operands rounded to two bytes, sums, "
	  "weights, gradients and all else in fp32, on a GPU or a processor with AMX or "
	  "AVX512-BF16" },
	{ "train", "products", OPTION_WORD, "builtin", IN(train.products),
	  .choices = "builtin openblas onednn auto",
	  .text = "what multiplies layers in training with fp32 on the CPU; builtin: own code on "
	  "processors with AVX2 and no AVX-512, OpenBLAS on others; auto: oneDNN where it is "
	  "installed" },
	{ "train", "seed", OPTION_INT, "1", IN(train.seed), RANGE(0, WHOLE_MAX),
	  .text = "of initial weights, shuffling and dropout; equal seeds give equal models" },
	{ "train", "threads", OPTION_INT, "0", IN(train.threads), FREE, RANGE(0, 4096),
	  .text = "0: as many as the affinity mask and the control group allow; at most one for "
	  "each slot works; never changes the result" },
	{ "train", "pin_threads", OPTION_BOOL, "no", IN(train.pin_threads), FREE,
	  .text = "each training thread but the first, which does all else too, keeps to a core of "
	  "the affinity mask; not under a quota of the control group, nor where several workers "
	  "share more cores than one has threads" },
	{ "train", "monitor", OPTION_TEXT, "auc", IN(train.monitor),
	  .text = "figure of data.valid that tells the best epoch; by default the first of "
	  "eval.metrics" },
	{ "train", "early_stop", OPTION_INT, "2", IN(train.early_stop), RANGE(0, 1e6),
	  .unit = "epochs", .text = "stop after so many epochs without gain; 0: never" },
	{ "train", "min_delta", OPTION_NUMBER, "0", IN(train.min_delta), RANGE(0, 1),
	  .text = "a smaller gain is none" },
	{ "train", "checkpoint_every", OPTION_SECONDS, "10m", IN(train.checkpoint_every), FREE,
	  RANGE(0, 1e9), .text = "time between saves during an epoch; 0: only at its end" },
	{ "train", "keep", OPTION_INT, "3", IN(train.keep), FREE, RANGE(1, 1e6),
	  .text = "versions of the model that stay, and those that they are deltas of" },
	{ "train", "full_every", OPTION_INT, "1", IN(train.full_every), FREE, RANGE(1, 1e6),
	  .unit = "versions", .text = "one in so many has all rows of tables, the others those "
	  "that changed since the one before; 1: all are whole, see recsys-train(1), FILES" },
	{ "train", "time_limit", OPTION_SECONDS, "0", IN(train.time_limit), FREE, RANGE(0, 1e9),
	  .text = "save and end after this time; 0: none" },
	{ "train", "clip_norm", OPTION_NUMBER, "0", IN(train.clip_norm), RANGE(0, 1e12),
	  .text = "largest norm of the dense gradient; 0: none" },

#include "spec/option_table_place.h"

	{ "incremental", "period", OPTION_SECONDS, "1h", IN(incremental.period), RANGE(1, 1e8),
	  .text = "rows are trained by periods of this length, counted from 1970 in UTC" },
	{ "incremental", "file_time", OPTION_TEXT, NULL, IN(incremental.file_time), FREE,
	  .text = "how the name of a training file tells the begin of its period, with the "
	  "codes %Y %m %d %H %M %S %j %s of strptime(3), * for any text and ? for any "
	  "character; a / in it makes folders count, and .gz may follow; without it the "
	  "column of data.time tells the period of every row", .example = "click-%Y%m%d-%H.tsv" },
	{ "incremental", "ready", OPTION_PATH, NULL, IN(incremental.ready), FREE,
	  .text = "a period is complete once this file is there; codes of strftime(3) stand "
	  "for its begin", .example = "log/%Y%m%d-%H.ready" },
	{ "incremental", "wait", OPTION_SECONDS, "5m", IN(incremental.wait), FREE, RANGE(0, 1e8),
	  .text = "without ready, a period is complete so long after its end, when its files "
	  "have not changed for as long" },
	{ "incremental", "late", OPTION_CHOICE, "train", IN(incremental.late), FREE,
	  .choices = "train skip",
	  .text = "rows of a period that was trained already: with the next period, or never" },
	{ "incremental", "replaced", OPTION_CHOICE, "skip", IN(incremental.replaced), FREE,
	  .choices = "skip train",
	  .text = "a file that was trained and has other contents now: never again, or all of "
	  "it as if it were new" },
	{ "incremental", "rejected", OPTION_CHOICE, "skip", IN(incremental.rejected), FREE,
	  .choices = "skip retry",
	  .text = "a period whose model the gate refused: never again, or once more together "
	  "with the next" },
	{ "incremental", "epochs", OPTION_INT, "1", IN(incremental.epochs), RANGE(1, 1e6),
	  .text = "passes over the rows of a period, instead of train.epochs" },
	{ "incremental", "gate", OPTION_CHOICE, "auto", IN(incremental.gate), FREE,
	  .choices = "auto valid holdout progressive",
	  .text = "rows that a candidate is judged on: data.valid; the rows held out of the "
	  "last accepted period; those of its own period, scored before they were trained; "
	  "auto: the first of these that there is" },
	{ "incremental", "holdout", OPTION_NUMBER, "0", IN(incremental.holdout), RANGE(0, 0.5),
	  .text = "share of each period, its last rows, that is held out and never trained" },
	{ "incremental", "require", OPTION_TEXT_LIST, NULL, IN(incremental.require), FREE,
	  .text = "what a candidate must meet to become the current model, for instance "
	  "auc>=last-0.005; see recsys-train-train(1), --require",
	  .example = "auc>=last-0.005" },
	{ "incremental", "publish", OPTION_PATH, NULL, IN(incremental.publish), FREE,
	  .text = "directory for serving: accepted versions as DIR/1, DIR/2, ..., and the "
	  "link DIR/current", .example = "serve/ctr" },
	{ "incremental", "publish_keep", OPTION_INT, "3", IN(incremental.publish_keep), FREE,
	  RANGE(0, 1e6),
	  .text = "versions kept in incremental.publish; 0: all" },
	{ "incremental", "command", OPTION_TEXT, NULL, IN(incremental.command), FREE,
	  .text = "shell command after a version was published; a failure is reported and the "
	  "command is run again next time", .example = "systemctl reload ctr-server" },
	{ "incremental", "command_timeout", OPTION_SECONDS, "5m",
	  IN(incremental.command_timeout), FREE, RANGE(0.001, 1e6),
	  .text = "incremental.command is ended, with all it started, after so long" },
	{ "incremental", "metrics", OPTION_PATH, NULL, IN(incremental.metrics), FREE,
	  .text = "file of figures for the textfile collector of Prometheus",
	  .example = "/var/lib/node_exporter/ctr.prom" },
	{ "incremental", "lock_warn", OPTION_SECONDS, "3h", IN(incremental.lock_warn), FREE,
	  RANGE(0, 1e8),
	  .text = "with --cron, a lock that another run holds is no news until it has held it "
	  "for so long" },

	{ "runs", "db", OPTION_PATH, NULL, IN(runs.db), FREE,
	  .text = "run database; by default runs.db beside the model directory",
	  .example = "runs.db" },
	{ "runs", "tensorboard", OPTION_PATH, NULL, IN(runs.tensorboard), FREE,
	  .text = "directory where each run writes its curves for TensorBoard",
	  .example = "curves" },
	{ .section = NULL },
};
