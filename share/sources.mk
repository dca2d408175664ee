# Shell completions, written by the program itself from its option tables, and what
# the build scripts share.
EXTRA_DIST += share/packages.sh
bashcompletiondir = $(datadir)/bash-completion/completions
zshcompletiondir = $(datadir)/zsh/site-functions
fishcompletiondir = $(datadir)/fish/vendor_completions.d
nodist_bashcompletion_DATA = share/recsys-train
nodist_zshcompletion_DATA = share/_recsys-train
nodist_fishcompletion_DATA = share/recsys-train.fish
CLEANFILES += share/recsys-train share/_recsys-train share/recsys-train.fish

share/recsys-train: recsys-train$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) share && ./recsys-train$(EXEEXT) completion bash >$@
share/_recsys-train: recsys-train$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) share && ./recsys-train$(EXEEXT) completion zsh >$@
share/recsys-train.fish: recsys-train$(EXEEXT)
	$(AM_V_GEN)$(MKDIR_P) share && ./recsys-train$(EXEEXT) completion fish >$@

# Scripts that bring public data sets into a form that a spec can read.
convertdir = $(pkgdatadir)/convert
dist_convert_SCRIPTS = share/convert/behaviours share/convert/movielens share/convert/s3rec

# For cron and systemd: recsys-train-cron(7) says where each goes.
EXTRA_DIST += share/cron/recsys-train.crontab.in share/systemd/recsys-train@.service.in
crondir = $(pkgdatadir)/cron
nodist_cron_DATA = share/cron/recsys-train.crontab
systemddir = $(pkgdatadir)/systemd
dist_systemd_DATA = share/systemd/recsys-train@.timer
nodist_systemd_DATA = share/systemd/recsys-train@.service
logrotatedir = $(pkgdatadir)/logrotate
dist_logrotate_DATA = share/logrotate/recsys-train
prometheusdir = $(pkgdatadir)/prometheus
dist_prometheus_DATA = share/prometheus/recsys-train.rules.yml \
	share/prometheus/recsys-train.test.yml
CLEANFILES += share/cron/recsys-train.crontab share/systemd/recsys-train@.service

share/cron/recsys-train.crontab: share/cron/recsys-train.crontab.in Makefile
	$(AM_V_GEN)$(MKDIR_P) share/cron && \
		sed 's|@bindir[@]|$(bindir)|' $(srcdir)/share/cron/recsys-train.crontab.in >$@
share/systemd/recsys-train@.service: share/systemd/recsys-train@.service.in Makefile
	$(AM_V_GEN)$(MKDIR_P) share/systemd && \
		sed 's|@bindir[@]|$(bindir)|' $(srcdir)/share/systemd/recsys-train@.service.in >$@
