/*
 * Rows of [placement], [gpu] and [cluster]: a part of option_table.c, which includes it once, with
 * that file's macros.
 */
	{ "placement", "mode", OPTION_CHOICE, "auto", IN(placement.mode), FREE,
	  .choices = "auto local allreduce ps hybrid",
	  .text = "who holds what; local: one process all; allreduce: every worker all tables; ps: "
	  "parameter servers the tables and the dense sums; hybrid: parameter servers the "
	  "tables, the workers the dense sums; auto: chosen and printed with its reason" },
	{ "placement", "device", OPTION_CHOICE, "auto", IN(placement.device), FREE,
	  .choices = "auto cpu cuda",
	  .text = "what trains the dense network; auto: a GPU where there is one, else the CPU, "
	  "which a build with CUDA says with the reason; cuda: a GPU, or the run is refused" },
	{ "placement", "consistency", OPTION_CHOICE, "sync", IN(placement.consistency),
	  .choices = "sync ssp async",
	  .text = "what a step sees of the others; sync: all of the steps before, which gives the "
	  "bits of one process; ssp: rows may lag by staleness steps; async: by any number, "
	  "nobody waits for gradients" },
	{ "placement", "staleness", OPTION_INT, "4", IN(placement.staleness), RANGE(1, 1024),
	  .unit = "steps",
	  .text = "the most that a pulled row may lag in ssp; not used otherwise" },
	{ "placement", "compress", OPTION_CHOICE, "auto", IN(placement.compress),
	  .choices = "auto none fp16 int8",
	  .text = "row gradients on the way to the shards; int8 has a scale a row, and what "
	  "rounding left out is sent later; auto: int8 between hosts in ssp and async, else "
	  "none" },
	{ "placement", "dense", OPTION_CHOICE, "auto", IN(placement.dense), FREE,
	  .choices = "auto shm mpi pushpull nccl",
	  .text = "how dense gradients are summed among workers; nccl: over their GPUs, or the "
	  "run is refused; auto: chosen and printed with its reason, nccl if every worker has a "
	  "GPU of its own" },
	{ "placement", "min_shard_bytes", OPTION_SIZE, "256k", IN(placement.min_shard_bytes), FREE,
	  RANGE(1, WHOLE_MAX), .unit = "bytes",
	  .text = "a table is not cut into parts smaller than this; a smaller one is whole at "
	  "one shard" },

	{ "gpu", "devices", OPTION_INT_LIST, NULL, IN(gpu.devices), FREE, RANGE(0, 255),
	  .text = "GPUs to use, by their numbers, which are those of CUDA_VISIBLE_DEVICES where "
	  "that is set; the workers of a host share them out, and threads of a worker its own; "
	  "without it all, up to 32", .example = "0,2" },
	{ "gpu", "memory_limit", OPTION_SIZE, "0", IN(gpu.memory_limit), FREE,
	  RANGE(0, WHOLE_MAX), .unit = "bytes",
	  .text = "the most that training takes of each GPU's memory; what it takes is planned "
	  "before the first step, and a plan beyond that is refused; 0: what is free there" },
	{ "gpu", "tf32", OPTION_BOOL, "no", IN(gpu.tf32),
	  .text = "products of fp32 in training take the first 10 bits of each mantissa, as TF32 "
	  "has, and sum in fp32; on a GPU alone, where they are faster" },
	{ "gpu", "tables", OPTION_CHOICE, "auto", IN(gpu.tables), FREE,
	  .choices = "auto host gpu",
	  .text = "where tables are while a GPU trains; host: in this machine's memory, their rows "
	  "go to the GPU and gradients come back; gpu: there, too, where steps are done, or the "
	  "run is refused; auto: gpu when one process trains, its GPU has room, or its several "
	  "GPUs have and NCCL joins them, over which rows are spread, and all tables are hashed, "
	  "of fp32, of one round and in memory, else host, and the run says why" },

	{ "cluster", "workers", OPTION_INT, "0", IN(cluster.workers), FREE, RANGE(0, 1024),
	  .text = "worker processes; 0: train in one process" },
	{ "cluster", "ps", OPTION_INT, "0", IN(cluster.ps), FREE, RANGE(0, 1024),
	  .text = "parameter server shards; 0: none" },
	{ "cluster", "policy", OPTION_CHOICE, "auto", IN(cluster.policy), FREE,
	  .choices = "auto record file",
	  .text = "record: every worker reads all rows and trains its slots of each batch, with "
	  "the bits of one process; file: training files are dealt to the workers in turn, each "
	  "reads its own and the rows of a batch come together from all; then the model depends "
	  "on the number of workers, too; auto: file in ssp and async on one host when there are "
	  "files enough, about even for each worker, and nothing wants all rows beforehand, "
	  "else record" },
	{ "cluster", "bucket_bytes", OPTION_SIZE, "0", IN(cluster.bucket_bytes), FREE,
	  RANGE(0, WHOLE_MAX), .unit = "bytes",
	  .text = "dense gradients are summed among workers in buckets of about so many bytes, "
	  "the last layers first, while the backward pass goes on; 0: auto, "
	  "that is all at once after it on one host, where the sum would take the pass's "
	  "cores, and 1M between hosts and where GPUs sum: less would be mostly waiting for "
	  "answers" },
	{ "cluster", "ps_threads", OPTION_INT, "0", IN(cluster.ps_threads), FREE, RANGE(0, 256),
	  .text = "threads that apply gradients in a shard; 0: the cores, but no more than 8" },
	{ "cluster", "journal", OPTION_CHOICE, "auto", IN(cluster.journal), FREE,
	  .choices = "auto yes no",
	  .text = "a shard writes down what changes its rows, so that one that is started again "
	  "after a death goes on from the last step; auto: where placement.consistency is ssp "
	  "or async, or [embedding] has rules by which rows come and go" },
	{ "cluster", "journal_dir", OPTION_PATH, NULL, IN(cluster.journal_dir), FREE,
	  .text = "where a shard has its journal, which takes up to four times the bytes of its "
	  "rows; without it, in the private directory of the job, if the host has one",
	  .example = "/var/tmp" },
	{ "cluster", "replicas", OPTION_INT, "1", IN(cluster.replicas), FREE, RANGE(1, 2),
	  .text = "2: the next shard keeps a copy of a shard's journal, and acknowledges a push "
	  "with it, so that a shard whose host is gone goes on from the last step, too; journal "
	  "= auto is then yes" },
	{ "cluster", "durable", OPTION_BOOL, "no", IN(cluster.durable), FREE,
	  .text = "yes: the journal is on the disk before a push is acknowledged; no: every "
	  "0.2 s" },
	{ "cluster", "listen", OPTION_TEXT, NULL, IN(cluster.listen), FREE,
	  .text = "address at which coordinator and shards of this host listen; without it "
	  "processes of one host use sockets in a private directory; port 0 of a shard is one "
	  "that is free", .example = "tcp://10.0.0.1:7700" },
	{ "cluster", "secret", OPTION_PATH, NULL, IN(cluster.secret), FREE,
	  .text = "key file of this node, made by keygen; wanted where nodes of several hosts "
	  "are started one by one", .example = "node.key" },
	{ "cluster", "keys", OPTION_PATH, NULL, IN(cluster.keys), FREE,
	  .text = "who may join: lines NAME ROLE[,ROLE] KEY; coordinator and shards read it "
	  "again on SIGHUP", .example = "cluster.keys" },
	{ "cluster", "trusted_interface", OPTION_TEXT, NULL, IN(cluster.trusted_interface), FREE,
	  .text = "network interface that mpi and nccl, which do not encrypt, may use between "
	  "hosts; without it they are refused there", .example = "wg0" },
	{ "cluster", "metrics", OPTION_PATH, NULL, IN(cluster.metrics), FREE,
	  .text = "the coordinator keeps what the nodes report in this file, every second, as "
	  "text for Prometheus", .example = "/var/lib/node_exporter/recsys.prom" },
	{ "cluster", "rendezvous", OPTION_SECONDS, "5m", IN(cluster.rendezvous), FREE,
	  ABOVE(0, 1e6),
	  .text = "every node has to come within this time before the first round" },
	{ "cluster", "heartbeat", OPTION_SECONDS, "0.5s", IN(cluster.heartbeat), FREE,
	  ABOVE(0, 1e4),
	  .text = "time between signs of life of a node to the coordinator; a fraction of the "
	  "lease" },
	{ "cluster", "lease", OPTION_SECONDS, "4.5s", IN(cluster.lease), FREE, ABOVE(0, 1e5),
	  .text = "a node that the coordinator does not hear for so long is out, and one that "
	  "does not hear the coordinator stops until it does" },
	{ "cluster", "request_timeout", OPTION_SECONDS, "1m", IN(cluster.request_timeout), FREE,
	  ABOVE(0, 1e6),
	  .text = "a worker gives up a shard that says nothing to a request for so long, and "
	  "the round with it" },
	{ "cluster", "step_timeout", OPTION_SECONDS, "30s", IN(cluster.step_timeout), FREE,
	  ABOVE(0, 1e6),
	  .text = "a worker waits so long for the others of a sum, then gives up the round" },
	{ "cluster", "absence", OPTION_SECONDS, "5m", IN(cluster.absence), FREE, ABOVE(0, 1e6),
	  .text = "when a round is over the others wait so long for a node that is missing, "
	  "coordinator or not, before the job fails" },
	{ "cluster", "drain", OPTION_SECONDS, "25s", IN(cluster.drain), FREE, ABOVE(0, 1e5),
	  .text = "after SIGTERM, and when worker 0 is done, nodes have so long to finish before "
	  "the job ends without them" },
	{ "cluster", "restarts", OPTION_INT, "3", IN(cluster.restarts), FREE, RANGE(0, 1e6),
	  .text = "times that one node is started again within ten minutes; the job also fails "
	  "after more rounds than this without progress" },
