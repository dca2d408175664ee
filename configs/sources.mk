# Runnable specs, installed in $(pkgdatadir)/configs.
configsdir = $(pkgdatadir)/configs
dist_configs_DATA = configs/criteo-deepfm.ini configs/criteo-dlrm.ini configs/frappe-deepfm.ini
