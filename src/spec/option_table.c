/*
 * Every key of the spec, once.  The order is the order of the printed spec, the
 * sample and the manual.
 */
#include "spec/option.h"

#include <math.h>

#define WHOLE_MAX 0x1p53     /* every whole number up to here has a double of its own */
#define IN(member)    .offset = offsetof(struct settings, member)
#define FIELD(member) .offset = offsetof(struct field_settings, member)
#define NUMERIC  .types = 1u << FIELD_NUMERIC
#define ITEMS    .types = 1u << FIELD_MULTI | 1u << FIELD_SEQUENCE
#define IDS      .types = 1u << FIELD_CATEGORICAL | 1u << FIELD_MULTI | 1u << FIELD_SEQUENCE
#define RANGE(low, high) .min = (low), .max = (high)
#define ABOVE(low, high) .min = (low), .max = (high), .above_min = 1

#define ROW_OPTIMIZERS "sgd adagrad rowwise_adagrad adam ftrl"
#define TABLE_KINDS    "hashed exact"

const struct option_section option_section[] = {
	{ "model", "what is trained and where it goes" },
	{ "data", "the rows: files, format, columns" },
	{ "field", "one column of the data as the model sees it; [field C1..C26] makes 26 of "
	  "them" },
	{ "embedding", "vectors of the categorical fields" },
	{ "linear", "first-order weights; keys not given are those of [embedding]" },
	{ "dnn", "the hidden layers" },
	{ "train", "steps, rates, stopping, saving" },
	{ "placement", "where arithmetic and tables are" },
	{ "runs", "the record of runs" },
	{ NULL, NULL },
};

const struct option_row option_table[] = {
	{ "model", "type", OPTION_TEXT, NULL, IN(model.type),
	  .text = "the model; see recsys-train(1), MODELS", .example = "deepfm" },
	{ "model", "path", OPTION_PATH, NULL, IN(model.path),
	  .text = "model directory; -f overrides it", .example = "model/ctr" },
	{ "model", "loss", OPTION_CHOICE, "logloss", IN(model.loss), .choices = "logloss mse",
	  .text = "what is minimised" },

	{ "data", "train", OPTION_PATH_LIST, NULL, IN(data.train),
	  .text = "training files; globs sort, - is standard input, gzip is recognised",
	  .example = "day_*.tsv.gz" },
	{ "data", "valid", OPTION_PATH_LIST, NULL, IN(data.valid),
	  .text = "files scored after every epoch; early stop and the best weights follow them",
	  .example = "valid.tsv" },
	{ "data", "command", OPTION_TEXT, NULL, IN(data.command),
	  .text = "shell command whose output is the training rows; its exit status is checked",
	  .example = "\"zstd -dc log.zst\"" },
	{ "data", "format", OPTION_CHOICE, "tsv", IN(data.format),
	  .choices = "tsv csv libsvm libffm libfm",
	  .text = "how rows are written" },
	{ "data", "separator", OPTION_BYTE, NULL, IN(data.separator),
	  .text = "between columns; by default a tab in tsv, a comma in csv", .example = "space" },
	{ "data", "header", OPTION_CHOICE, "auto", IN(data.header), .choices = "no yes auto",
	  .text = "whether line 1 names the columns; auto: it does if its label cell is no label" },
	{ "data", "quote", OPTION_CHOICE, "auto", IN(data.quote), .choices = "no yes auto",
	  .text = "whether cells may be in double quotes as in RFC 4180; auto: in csv" },
	{ "data", "label", OPTION_TEXT, NULL, IN(data.label),
	  .text = "column of the label, by name or by number from 1; needed by tsv and csv",
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
	  .text = "column of the user or query, for metrics by group", .example = "user" },
	{ "data", "time", OPTION_TEXT, NULL, IN(data.time),
	  .text = "column of the time of a row", .example = "timestamp" },
	{ "data", "id", OPTION_TEXT, NULL, IN(data.id),
	  .text = "column that names a row in the output of predict", .example = "impression" },
	{ "data", "missing", OPTION_TEXT_LIST, "\"\"", IN(data.missing),
	  .text = "cells that mean no value", .example = "\"\",NULL,\\N" },
	{ "data", "on_bad_row", OPTION_CHOICE, "fail", IN(data.on_bad_row), .choices = "fail skip",
	  .text = "what a row that cannot be read does" },
	{ "data", "max_bad_rows", OPTION_SIZE, "1000", IN(data.max_bad_rows), RANGE(0, WHOLE_MAX),
	  .unit = "rows",
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
	{ "data", "threads", OPTION_INT, "0", IN(data.threads), RANGE(0, 4096),
	  .text = "threads that read and parse; 0: chosen for the machine" },

	{ "field", "column", OPTION_TEXT, NULL, FIELD(column),
	  .text = "column by name or by number from 1; A..B in a range; by default the field's "
	  "name",
	  .example = "15..40" },
	{ "field", "type", OPTION_CHOICE, "categorical", FIELD(type),
	  .choices = "categorical numeric multi sequence",
	  .text = "one id, one number, a bag of ids, or ids in time order" },
	{ "field", "transform", OPTION_CHOICE, "none", FIELD(transform), NUMERIC,
	  .choices = "none log1p standardize bucketize",
	  .text = "numeric: sign(x) log(1+|x|), (x-mean)/stddev, or the number of its interval "
	  "as an id" },
	{ "field", "buckets", OPTION_SIZE, NULL, FIELD(buckets), .inherits = "embedding.buckets",
	  RANGE(1, 0x1p40),
	  .unit = "rows", .text = "size of a hashed table, without the row for missing values",
	  .example = "1M" },
	{ "field", "dim", OPTION_INT, NULL, FIELD(dim), .inherits = "embedding.dim", RANGE(1, 4096),
	  .text = "width of the vector" },
	{ "field", "share", OPTION_TEXT, NULL, FIELD(share), IDS,
	  .text = "use the table of this field", .example = "C2" },
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
	  .choices = "sum mean sqrtn max",
	  .text = "multi, sequence: how the vectors of the items become one" },
	{ "field", "unique", OPTION_BOOL, "no", FIELD(unique), ITEMS,
	  .text = "multi: drop repeated items" },
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
	{ "embedding", "table", OPTION_CHOICE, "hashed", IN(embedding.table),
	  .choices = TABLE_KINDS,
	  .text = "hashed: fixed buckets; exact: grows, no collisions" },
	{ "embedding", "buckets", OPTION_SIZE, "1M", IN(embedding.buckets), RANGE(1, 0x1p40),
	  .unit = "rows",
	  .text = "size of the hashed table of a field that gives none" },
	ROW_OPTIMIZER(embedding, OWN)
	{ "embedding", "init_stddev", OPTION_NUMBER, "1e-4", IN(embedding.init_stddev), RANGE(0,
	  100),
	  .text = "rows start as normal numbers with this standard deviation" },

	ROW_OPTIMIZER(linear, EMBEDDINGS)
	{ "linear", "init_stddev", OPTION_NUMBER, NULL, IN(linear.init_stddev),
	  .inherits = "embedding.init_stddev", RANGE(0, 100),
	  .text = "weights start as normal numbers with this standard deviation" },

	{ "dnn", "hidden", OPTION_INT_LIST, "400,400,400", IN(dnn.hidden), RANGE(1, 65536),
	  .text = "units of the hidden layers" },
	{ "dnn", "activation", OPTION_CHOICE, "relu", IN(dnn.activation),
	  .choices = "none relu prelu dice tanh sigmoid gelu", .text = "after every hidden layer" },
	{ "dnn", "dropout", OPTION_NUMBER, "0", IN(dnn.dropout), RANGE(0, 0.99),
	  .text = "share of the units that is dropped in training" },
	{ "dnn", "batch_norm", OPTION_BOOL, "no", IN(dnn.batch_norm),
	  .text = "batch normalisation between layer and activation" },
	{ "dnn", "batch_norm_momentum", OPTION_NUMBER, "0.9", IN(dnn.batch_norm_momentum), RANGE(0,
	  0.999999),
	  .text = "share of the running statistics that a step keeps" },
	{ "dnn", "batch_norm_epsilon", OPTION_NUMBER, "1e-5", IN(dnn.batch_norm_epsilon), ABOVE(0,
	  1),
	  .text = "added to the variance" },
	{ "dnn", "l2", OPTION_NUMBER, "0", IN(dnn.l2), RANGE(0, 1e6),
	  .text = "L2 on the weights of the layers" },
	{ "dnn", "init", OPTION_CHOICE, "xavier_uniform", IN(dnn.init),
	  .choices = "xavier_uniform xavier_normal he_uniform he_normal",
	  .text = "how the weights start" },

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
	{ "train", "precision", OPTION_WORD, "fp32", IN(train.precision), .choices = "fp32",
	  .text = "numbers of the dense arithmetic" },
	{ "train", "seed", OPTION_INT, "1", IN(train.seed), RANGE(0, WHOLE_MAX),
	  .text = "of initial weights, shuffling and dropout; equal seeds give equal models" },
	{ "train", "threads", OPTION_INT, "0", IN(train.threads), RANGE(0, 4096),
	  .text = "0: as many as the affinity mask and the control group allow; never changes "
	  "the result" },
	{ "train", "monitor", OPTION_WORD, "auc", IN(train.monitor), .choices = "auc logloss",
	  .text = "figure of data.valid that tells the best epoch" },
	{ "train", "early_stop", OPTION_INT, "2", IN(train.early_stop), RANGE(0, 1e6),
	  .unit = "epochs",
	  .text = "stop after so many epochs without gain; 0: never" },
	{ "train", "min_delta", OPTION_NUMBER, "0", IN(train.min_delta), RANGE(0, 1),
	  .text = "a smaller gain is none" },
	{ "train", "checkpoint_every", OPTION_SECONDS, "10m", IN(train.checkpoint_every), RANGE(0,
	  1e9),
	  .text = "time between saves during an epoch; 0: only at its end" },
	{ "train", "keep", OPTION_INT, "3", IN(train.keep), RANGE(1, 1e6),
	  .text = "versions of the model that stay" },
	{ "train", "time_limit", OPTION_SECONDS, "0", IN(train.time_limit), RANGE(0, 1e9),
	  .text = "save and end after this time; 0: none" },
	{ "train", "clip_norm", OPTION_NUMBER, "0", IN(train.clip_norm), RANGE(0, 1e12),
	  .text = "largest norm of the dense gradient; 0: none" },

	{ "placement", "mode", OPTION_WORD, "auto", IN(placement.mode), .choices = "auto local",
	  .text = "auto: chosen and printed with its reason" },

	{ "runs", "db", OPTION_PATH, NULL, IN(runs.db),
	  .text = "run database; by default runs.db beside the model directory",
	  .example = "runs.db" },
	{ .section = NULL },
};
