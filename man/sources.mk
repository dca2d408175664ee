# Manual pages.  man/generate rewrites their generated parts.
EXTRA_DIST += man/generate
dist_man_MANS = \
	man/recsys-train-audit.1 man/recsys-train-bench.1 \
	man/recsys-train-check.1 \
	man/recsys-train-cluster.7 \
	man/recsys-train-completion.1 \
	man/recsys-train-cron.7 \
	man/recsys-train-data.7 \
	man/recsys-train-db.5 \
	man/recsys-train-eval.1 \
	man/recsys-train-exit.7 \
	man/recsys-train-gc.1 \
	man/recsys-train-help.1 \
	man/recsys-train-init.1 \
	man/recsys-train-inspect.1 \
	man/recsys-train-export.1 \
	man/recsys-train-k8s.1 \
	man/recsys-train-keygen.1 \
	man/recsys-train-launch.1 \
	man/recsys-train-node.1 \
	man/recsys-train-plan.1 \
	man/recsys-train-predict.1 \
	man/recsys-train-recommend.1 \
	man/recsys-train-rollback.1 \
	man/recsys-train-runs.1 \
	man/recsys-train-synth.1 \
	man/recsys-train-train.1 \
	man/recsys-train.1 \
	man/recsys-train.ini.5 \
	man/recsys.3
