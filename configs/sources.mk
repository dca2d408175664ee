# Runnable specs, installed in $(pkgdatadir)/configs.
configsdir = $(pkgdatadir)/configs
dist_configs_DATA = \
	configs/adult-wide_deep.ini \
	configs/aliccp-deepfm.ini \
	configs/aliexpress-dcn.ini \
	configs/amazonelectronics-two_tower.ini \
	configs/amazon-din.ini \
	configs/criteo-deepfm.ini \
	configs/criteo-dlrm.ini \
	configs/frappe-dcn.ini \
	configs/frappe-dcnv2.ini \
	configs/frappe-deepfm.ini \
	configs/frappe-wide_deep.ini \
	configs/gpu.ini configs/hourly.ini configs/hybrid.ini configs/kubernetes.ini configs/local.ini configs/slurm.ini \
	configs/fuxictr-din.ini \
	configs/kgcn_lastfm-deepfm.ini \
	configs/lastfm-din.ini \
	configs/ml100k-fm.ini \
	configs/ml1m-dlrm.ini configs/ml1m-two_tower.ini \
	configs/taobao-din.ini \
	configs/taobaoad-dlrm.ini
