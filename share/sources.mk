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
