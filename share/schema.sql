-- The run database of recsys-train.  Described in recsys-train-db(5).
-- Each "-- version N" line begins the step from version N-1 to N; a step that
-- was released is never edited.  The views v_runs and v_metrics stay as they
-- are for readers; the tables may change.

-- version 1
CREATE TABLE runs (
	run INTEGER PRIMARY KEY AUTOINCREMENT,
	status TEXT NOT NULL DEFAULT 'running' CHECK (status IN
		('running', 'ok', 'partial', 'diverged', 'failed', 'interrupted', 'rejected')),
	model TEXT NOT NULL DEFAULT '',
	directory TEXT NOT NULL DEFAULT '',
	spec_path TEXT NOT NULL DEFAULT '',
	spec_text TEXT NOT NULL DEFAULT '',
	command_line TEXT NOT NULL DEFAULT '',
	version TEXT NOT NULL DEFAULT '',
	tag TEXT NOT NULL DEFAULT '',
	note TEXT NOT NULL DEFAULT '',
	message TEXT NOT NULL DEFAULT '',
	seed INTEGER,
	threads INTEGER,
	rows INTEGER,
	started_ms INTEGER NOT NULL,
	ended_ms INTEGER,
	host TEXT NOT NULL DEFAULT '',
	boot TEXT NOT NULL DEFAULT '',
	process_space TEXT NOT NULL DEFAULT '',
	pid INTEGER NOT NULL,
	process_start INTEGER NOT NULL
);
CREATE INDEX runs_tag ON runs (tag) WHERE tag <> '';

CREATE TABLE params (
	run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
	key TEXT NOT NULL,
	value TEXT NOT NULL,
	PRIMARY KEY (run, key)
) WITHOUT ROWID;

-- value is NULL and text 'NaN', 'Inf' or '-Inf' where it is no finite number.
CREATE TABLE metrics (
	run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
	key TEXT NOT NULL,
	epoch INTEGER NOT NULL,
	step INTEGER NOT NULL,
	rows INTEGER NOT NULL,
	value REAL,
	text TEXT,
	time_ms INTEGER NOT NULL,
	PRIMARY KEY (run, key, epoch, step)
) WITHOUT ROWID;

CREATE TABLE warnings (
	id INTEGER PRIMARY KEY,
	run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
	time_ms INTEGER NOT NULL,
	text TEXT NOT NULL
);
CREATE INDEX warnings_run ON warnings (run);

CREATE TABLE placements (
	run INTEGER PRIMARY KEY REFERENCES runs ON DELETE CASCADE,
	mode TEXT NOT NULL,
	lookup TEXT NOT NULL,
	reducer TEXT NOT NULL,
	kernel TEXT NOT NULL,
	reason TEXT NOT NULL
);

CREATE TABLE artifacts (
	id INTEGER PRIMARY KEY,
	run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
	time_ms INTEGER NOT NULL,
	kind TEXT NOT NULL,
	path TEXT NOT NULL,
	bytes INTEGER NOT NULL
);
CREATE INDEX artifacts_run ON artifacts (run);

-- rows_read = rows_trained + rows_skipped; content_hash is 16 hexadecimal digits.
CREATE TABLE ledger (
	run INTEGER NOT NULL REFERENCES runs ON DELETE CASCADE,
	file TEXT NOT NULL,
	content_hash TEXT NOT NULL,
	range_begin INTEGER NOT NULL,
	range_end INTEGER NOT NULL,
	attempt INTEGER NOT NULL,
	rows_read INTEGER NOT NULL,
	rows_trained INTEGER NOT NULL,
	rows_skipped INTEGER NOT NULL,
	PRIMARY KEY (run, file, content_hash, range_begin, range_end, attempt)
) WITHOUT ROWID;
CREATE INDEX ledger_file ON ledger (file, content_hash);

CREATE VIEW v_metrics AS
SELECT printf('r%04d', run) AS run, key, epoch, step, rows, value, text,
	strftime('%Y-%m-%dT%H:%M:%SZ', time_ms / 1000, 'unixepoch') AS time
FROM metrics;

CREATE VIEW v_runs AS
SELECT printf('r%04d', r.run) AS run, r.status, r.model, r.directory, r.tag, r.note,
	strftime('%Y-%m-%dT%H:%M:%SZ', r.started_ms / 1000, 'unixepoch') AS started,
	(r.ended_ms - r.started_ms) / 1000.0 AS seconds,
	r.rows,
	(SELECT sum(l.rows_skipped) FROM ledger l WHERE l.run = r.run) AS skipped,
	(SELECT m.value FROM metrics m WHERE m.run = r.run AND m.key = 'valid.auc' AND m.epoch = 0) AS auc,
	(SELECT m.value FROM metrics m WHERE m.run = r.run AND m.key = 'valid.logloss' AND m.epoch = 0) AS logloss,
	r.seed, r.threads, r.version, r.command_line, r.message
FROM runs r;
