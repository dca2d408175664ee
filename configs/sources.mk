# Runnable specs, installed in $(pkgdatadir)/configs.
configsdir = $(pkgdatadir)/configs
dist_configs_DATA =
