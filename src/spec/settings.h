/*
 * The resolved spec as plain values.  Every member is filled by an option row
 * (spec/option_table.c names its key, type, default, range, unit and text); no
 * other code parses a value.  Strings and lists belong to the struct spec that
 * made them.  "" means not set.  Sizes in bytes, durations in seconds.
 */
#ifndef SPEC_SETTINGS_H
#define SPEC_SETTINGS_H

#include <stddef.h>
#include <stdint.h>

struct text_list {
	char  **item;
	size_t  n;
};

struct number_list {
	double *item;
	size_t  n;
};

enum data_format  { FORMAT_TSV, FORMAT_CSV, FORMAT_LIBSVM, FORMAT_LIBFFM, FORMAT_LIBFM,
                   FORMAT_TFRECORD, FORMAT_LISTS };
enum tristate     { TRI_NO, TRI_YES, TRI_AUTO };
enum bad_row      { BAD_ROW_FAIL, BAD_ROW_SKIP };
enum label_type   { LABEL_BINARY, LABEL_PROBABILITY, LABEL_REAL };
enum field_type   { FIELD_CATEGORICAL, FIELD_NUMERIC, FIELD_MULTI, FIELD_SEQUENCE, FIELD_CROSS };
enum transform    { TRANSFORM_NONE, TRANSFORM_LOG1P, TRANSFORM_STANDARDIZE, TRANSFORM_BUCKETIZE };
enum combiner     { COMBINE_SUM, COMBINE_MEAN, COMBINE_SQRTN, COMBINE_MAX, COMBINE_LAST };
enum id_type      { ID_TEXT, ID_INT };
enum table_kind   { TABLE_HASHED, TABLE_EXACT };
enum admission_kind { ADMISSION_ALL, ADMISSION_COUNT, ADMISSION_SKETCH, ADMISSION_PROBABILITY };
enum evict_kind   { EVICT_LRU, EVICT_LFU };
enum round_scale  { ROUNDS_SUM, ROUNDS_SQRT };
enum row_storage  { ROW_FP32, ROW_BF16, ROW_FP16, ROW_INT8 };   /* int8: in files alone */
enum row_optimizer_kind { ROW_SGD, ROW_ADAGRAD, ROW_ROWWISE_ADAGRAD, ROW_ADAM, ROW_FTRL };
enum dense_optimizer_kind { DENSE_SGD, DENSE_MOMENTUM, DENSE_ADAGRAD, DENSE_ADAM, DENSE_ADAMW };
enum activation   { ACT_NONE, ACT_RELU, ACT_PRELU, ACT_DICE, ACT_TANH, ACT_SIGMOID, ACT_GELU };
enum schedule     { SCHEDULE_CONSTANT, SCHEDULE_WARMUP_LINEAR, SCHEDULE_COSINE, SCHEDULE_PLATEAU };
enum dense_init   { INIT_XAVIER_UNIFORM, INIT_XAVIER_NORMAL, INIT_HE_UNIFORM, INIT_HE_NORMAL };
enum loss_kind    { LOSS_LOGLOSS, LOSS_MSE, LOSS_SOFTMAX, LOSS_SAMPLED_SOFTMAX, LOSS_FULL_SOFTMAX,
                    LOSS_BPR, LOSS_CCL };
enum field_part   { PART_BOTH, PART_WIDE, PART_DEEP };
enum dcn_version  { DCN_V1, DCN_V2 };
enum structure    { STRUCTURE_PARALLEL, STRUCTURE_STACKED };
enum similarity   { SIMILARITY_COSINE, SIMILARITY_DOT };
enum din_pooling  { DIN_ATTENTION, DIN_MEAN, DIN_SUM };
enum item_sample  { SAMPLE_UNIFORM, SAMPLE_POPULARITY };
enum eval_candidates { EVAL_ROWS, EVAL_CATALOGUE };
enum placement_mode { PLACE_AUTO, PLACE_LOCAL, PLACE_ALLREDUCE, PLACE_PS, PLACE_HYBRID };
enum gpu_tables { GPU_TABLES_AUTO, GPU_TABLES_HOST, GPU_TABLES_GPU };
enum placement_device { DEVICE_AUTO, DEVICE_CPU, DEVICE_CUDA };
enum consistency  { CONSISTENCY_SYNC, CONSISTENCY_SSP, CONSISTENCY_ASYNC };
enum compression  { COMPRESS_AUTO, COMPRESS_NONE, COMPRESS_FP16, COMPRESS_INT8 };
enum late_rows { LATE_TRAIN, LATE_SKIP };
enum replaced_files { REPLACED_SKIP, REPLACED_TRAIN };
enum rejected_periods { REJECTED_SKIP, REJECTED_RETRY };
enum gate_rows { GATE_AUTO, GATE_VALID, GATE_HOLDOUT, GATE_PROGRESSIVE };
enum policy       { POLICY_AUTO, POLICY_RECORD, POLICY_FILE };
enum journal_use  { JOURNAL_USE_AUTO, JOURNAL_USE_YES, JOURNAL_USE_NO };
enum dense_plane  { PLANE_AUTO, PLANE_SHM, PLANE_MPI, PLANE_PUSHPULL, PLANE_NCCL };

struct model_settings {
	char *type;                 /* a row of the model table                     */
	char *path;                 /* model directory; train -f overrides          */
	enum loss_kind loss;
};

struct data_settings {
	struct text_list train, valid;      /* patterns as written; "-" is stdin    */
	char  *command;                     /* training rows come from its stdout   */
	enum data_format format;
	char  *separator;                   /* one byte; "" = tab for tsv, comma for csv */
	enum tristate header, quote;        /* quote auto: csv yes, tsv no          */
	char  *label, *weight, *group, *time, *id;   /* column name or number from 1 */
	struct text_list label_values;      /* negative, positive; empty = 0,1      */
	enum label_type label_type;
	struct text_list missing;           /* cells that mean "no value"           */
	int    trim;                        /* blanks around a cell do not count    */
	enum bad_row on_bad_row;
	int64_t max_bad_rows;               /* skip policy: more than this is an error */
	int64_t max_line;                   /* bytes of one row                     */
	int64_t index_base;                 /* libsvm, libffm: 0 or 1; -1 = not given */
	int     shuffle;
	int64_t shuffle_window;             /* bytes of text permuted together      */
	int64_t row_group;                  /* bytes of text in one row group       */
	int64_t threads;                    /* parser threads, 0 = auto             */
	char   *cache;                      /* directory of parsed rows; "" = none  */
};

/* One [field NAME] after ranges are expanded. */
struct field_settings {
	char  *name;
	char  *column;                      /* name or number from 1; libffm: field number */
	enum field_type type;
	enum transform transform;
	int64_t buckets;
	int64_t dim;                        /* 0 = embedding.dim                    */
	char  *share;                       /* name of the field whose table is used */
	enum tristate missing_own;          /* [field] missing given                */
	struct text_list missing;
	double  missing_value;              /* numeric                              */
	char   *multi_separator, *weight_separator;
	int64_t max_length;                 /* multi, sequence: keeps the newest    */
	enum combiner combiner;
	int64_t last_k;                     /* combiner last: mean of so many       */
	char   *history;                    /* sequence: group attended to together, aligned */
	struct text_list fields;            /* cross: what is crossed               */
	enum field_part part;               /* of a model with a wide part          */
	int     unique;                     /* multi: drop repeated items           */
	int     fold_case;
	enum id_type id_type;
	struct number_list boundaries;      /* bucketize; empty = quantiles of the first pass */
	int64_t quantiles;                  /* how many when not given              */
	double  mean, stddev;               /* standardize; stddev 0 = first pass   */
	enum table_kind table;
	int64_t rounds;                     /* hashed: rows that a value has        */
	enum row_optimizer_kind optimizer;  /* resolved: own, else [embedding]      */
	double  learning_rate, l2;          /* resolved likewise                    */
	int     scheduled;                  /* 0: gave its own learning_rate        */
	size_t  line;                       /* of the section, for messages         */
	const char *file;
};

struct row_optimizer_settings {
	enum row_optimizer_kind kind;
	double learning_rate, initial_accumulator, epsilon, beta1, beta2;
	double l1, l2;                      /* l2 on touched rows, once a row and step */
	double ftrl_beta, ftrl_l1, ftrl_l2, ftrl_power;
	int    scheduled;                   /* 1: follows train.schedule (no own rate) */
};

struct embedding_settings {
	int64_t dim;
	enum row_storage storage;           /* of vectors wider than 1              */
	enum table_kind table;
	int64_t buckets, rounds;            /* defaults of fields that give none    */
	enum round_scale round_scale;
	struct row_optimizer_settings optimizer;
	double init_stddev;
	int64_t decay_every;                /* steps, 0 = never; linear tables, too */
	double decay;                       /* what is left of a sum of squares     */
	/* Exact tables: which ids get a row, and how rows go (embed/tenancy.h). */
	enum admission_kind admit;
	int64_t admit_count;
	double  admit_probability;
	int64_t admit_cells;
	double  expire_after;               /* of data time, 0 = never              */
	int64_t expire_steps;               /* 0 = never                            */
	int64_t max_bytes;                  /* of a field's tables, 0 = no limit    */
	enum evict_kind evict;
	/* Hashed tables that are larger than memory (embed/spill.h). */
	int64_t resident;                   /* bytes of the rows of all tables, 0 = all */
	char   *spill;                      /* directory for the others             */
};

/* First-order weights; an optimizer of their own, by default the embedding's. */
struct linear_settings {
	struct row_optimizer_settings optimizer;
	double init_stddev;
};

struct dnn_settings {
	struct number_list hidden;
	enum activation activation;
	double dropout;
	int    batch_norm;
	double batch_norm_momentum;         /* share of the running values a step keeps */
	double batch_norm_epsilon;
	double l2;
	enum dense_init init;
};

/* Deep and cross network; the MLP beside or behind it is [dnn]. */
struct dcn_settings {
	enum dcn_version version;
	int64_t layers;
	int64_t rank;                       /* v2: 0 = full                         */
	int64_t experts;                    /* v2: of low rank, gated; 1 = none     */
	enum structure structure;
};

/* The attention unit of DIN; the MLP behind it is [dnn]. */
struct din_settings {
	struct number_list attention;       /* hidden units                         */
	enum activation activation;
	int    softmax;                     /* weights of a history sum to 1        */
	enum din_pooling pooling;
};

/* DLRM: the MLP over the numeric columns; its last layer has embedding.dim units. */
struct dlrm_settings { struct number_list bottom; };

/* One tower of two_tower: fields of its own, then an MLP whose last layer has no
 * activation. */
struct tower_settings {
	struct text_list fields;
	struct dnn_settings dnn;            /* hidden: the last is the vector  */
};
enum { TOWER_USER, TOWER_ITEM, N_TOWERS };

struct two_tower_settings {
	enum similarity similarity;
	double temperature;
	int    learn_temperature;
	int    logq;                        /* subtract the log of the sampling probability */
	double logq_rate;                   /* alpha of the streaming estimate      */
	double margin, negative_weight;     /* ccl                                  */
};

/* What an item is, and how items are drawn that a row is not about. */
struct items_settings {
	char  *key;                         /* field that names an item, "" none    */
	struct text_list fields;            /* fields that belong to it             */
	int64_t negatives;                  /* a row; sampled_softmax: a batch      */
	enum item_sample sample;
	double alpha;                       /* popularity^alpha                     */
	char  *within;                      /* field whose value a negative shares, "" any */
};

struct eval_settings {
	struct text_list metrics;           /* empty = auc, logloss                 */
	enum eval_candidates candidates;
	int    mask_seen;                   /* catalogue: items of the user's training rows */
};

struct train_settings {
	int64_t epochs, batch_size, slots;  /* slots 0 = by the rule of the manual  */
	enum dense_optimizer_kind optimizer;
	double learning_rate, momentum, beta1, beta2, epsilon, weight_decay;
	enum schedule schedule;
	int64_t warmup_steps, decay_steps;
	double decay_floor, plateau_factor;
	int64_t plateau_patience;
	int    lr_scaling;                  /* linear: rate x batch / lr_base_batch */
	int64_t lr_base_batch;
	char  *precision;                   /* fp32 bf16                            */
	char  *products;                    /* builtin openblas onednn auto         */
	int64_t seed;
	int64_t threads;                    /* 0 = auto; not part of the model      */
	int    pin_threads;                 /* each on a core; not part of the model */
	char  *monitor;                     /* a metric, see [eval]                 */
	int64_t early_stop;                 /* epochs without gain, 0 = never       */
	double min_delta;
	double checkpoint_every;            /* seconds, 0 = only at the end         */
	int64_t keep;
	int64_t full_every;                 /* versions; 1 = all are whole          */
	double time_limit;                  /* seconds, 0 = none                    */
	double clip_norm;                   /* 0 = none                             */
};

/* Where tables and arithmetic are; no part of the model. */
struct placement_settings {
	enum placement_mode mode;
	enum placement_device device;
	enum consistency consistency;
	int64_t staleness;                  /* ssp: steps a pulled row may lag      */
	enum compression compress;          /* of row gradients on the wire         */
	enum dense_plane dense;
	int64_t min_shard_bytes;            /* less of a table is not worth a shard */
};

struct gpu_settings {
	struct number_list devices;         /* numbers; none = all                  */
	int     tf32;                       /* products of fp32 in training         */
	int64_t memory_limit;               /* bytes of each; 0 = what is free      */
	enum gpu_tables tables;             /* where they are while they train      */
};

/* The processes of a run and how they find and watch each other; no part of the model. */
struct cluster_settings {
	int64_t workers, ps;                /* processes; 0 = none asked for        */
	enum policy policy;                 /* how rows are dealt to workers        */
	int64_t bucket_bytes;               /* dense gradients summed at a time; 0 = auto */
	int64_t ps_threads;                 /* of a shard; 0 = auto                 */
	char   *listen;                     /* tcp://ADDRESS:PORT of this node; "" = local */
	char   *secret, *keys;              /* key file of this node, list of who may join */
	double  command_timeout;            /* seconds                              */
	enum journal_use journal;           /* of shards                            */
	char   *journal_dir;                /* "" = the private directory of the job */
	int64_t replicas;                   /* of a shard, itself counted           */
	int     durable;                    /* on the disk before it is acknowledged */
	char   *metrics;                    /* file for Prometheus; "" = none       */
	char   *trusted_interface;          /* for mpi and nccl between hosts       */
	double  rendezvous, heartbeat, lease, request_timeout, absence, step_timeout, drain;
	int64_t restarts;                   /* of one node within ten minutes       */
};

/* Retraining by period, see recsys-train-cron(7); no part of the weights. */
struct incremental_settings {
	double  period;                     /* seconds                              */
	char   *file_time;                  /* strptime pattern of file names; "" = data.time */
	char   *ready;                      /* strftime pattern of a marker file; "" = by age */
	double  wait;                       /* seconds after which a period is complete */
	enum late_rows late;                /* rows of periods that were trained already */
	enum replaced_files replaced;       /* files whose trained part has changed */
	enum rejected_periods rejected;     /* what becomes of the rows             */
	int64_t epochs;                     /* passes over a period                 */
	enum gate_rows gate;                /* what candidates are judged on        */
	double  holdout;                    /* share of a period that is not trained */
	struct text_list require;           /* conditions, see train/gate.h         */
	char   *publish;                    /* directory of published versions; ""  */
	int64_t publish_keep;               /* versions there; 0 = all              */
	char   *command;                    /* run after publishing; ""             */
	double  command_timeout;            /* seconds                              */
	char   *metrics;                    /* file for Prometheus; "" = none       */
	double  lock_warn;                  /* seconds that another run may hold the lock */
};

struct runs_settings {
	char *db;                           /* "" = beside the model                */
	char *tensorboard;                  /* directory of event files; "" = none  */
};

struct settings {
	struct model_settings     model;
	struct data_settings      data;
	struct embedding_settings embedding;
	struct linear_settings    linear;
	struct dnn_settings       dnn;
	struct dcn_settings       dcn;
	struct din_settings       din;
	struct dlrm_settings      dlrm;
	struct two_tower_settings two_tower;
	struct tower_settings     tower[N_TOWERS];
	struct items_settings     items;
	struct eval_settings      eval;
	struct train_settings     train;
	struct placement_settings placement;
	struct gpu_settings gpu;
	struct cluster_settings   cluster;
	struct incremental_settings incremental;
	struct runs_settings      runs;
	struct field_settings    *field;    /* [n_fields] in spec order             */
	size_t                    n_fields;
};

#endif
