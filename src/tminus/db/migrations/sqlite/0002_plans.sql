-- Plans: what would be made, looked at before it is. A row is a note that nobody but `plan`, `rehearse` and `apply`
-- reads; the engine never does. The digest stands for runbook, members, times and data.

CREATE TABLE plans (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  digest TEXT NOT NULL,
  runbook_name TEXT NOT NULL,
  made_at TEXT NOT NULL,
  made_by TEXT NOT NULL DEFAULT '',
  valid_until TEXT NOT NULL,
  batches INTEGER NOT NULL,
  members INTEGER NOT NULL,
  step_runs INTEGER NOT NULL,
  body_json TEXT NOT NULL,
  applied_at TEXT,
  applied_by TEXT,
  applied_version INTEGER,
  applied_batches_json TEXT,
  CHECK ((applied_at IS NULL) = (applied_batches_json IS NULL))
);
