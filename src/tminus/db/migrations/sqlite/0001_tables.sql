-- The tables others rely on (names and columns of the contract) and our own. Frozen: a change is a new migration.
-- Instants are fixed-width UTC text, so text order is time order. There are no foreign keys on purpose: all writers are
-- ours, each row is written hundreds of thousands of times in a large wave, and `doctor` checks what keys would check.

CREATE TABLE runbooks (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  version INTEGER NOT NULL,
  yaml_content TEXT NOT NULL,
  data_table_name TEXT NOT NULL,
  is_active BOOLEAN NOT NULL DEFAULT 1,
  overdue_behavior TEXT NOT NULL DEFAULT 'rerun' CHECK (overdue_behavior = 'rerun' OR overdue_behavior = 'ignore'),
  ignore_overdue_applied BOOLEAN NOT NULL DEFAULT 0,
  rerun_init BOOLEAN NOT NULL DEFAULT 0,
  created_at TEXT NOT NULL,
  created_by TEXT NOT NULL DEFAULT '',
  last_error TEXT,
  last_error_at TEXT,
  source_failures INTEGER NOT NULL DEFAULT 0,
  source_next_at TEXT,
  source_asked_at TEXT,
  source_answered_at TEXT,
  source_fingerprint TEXT,
  source_asks INTEGER NOT NULL DEFAULT 0,
  source_columns_json TEXT,
  source_row_count INTEGER,
  source_problem_count INTEGER NOT NULL DEFAULT 0,
  source_is_complete BOOLEAN,
  UNIQUE (name, version)
);
CREATE UNIQUE INDEX runbooks_active ON runbooks (name) WHERE is_active;

CREATE TABLE runbook_automation_settings (
  runbook_name TEXT PRIMARY KEY,
  automation_enabled BOOLEAN NOT NULL DEFAULT 0,
  enabled_at TEXT,
  enabled_by TEXT,
  disabled_at TEXT,
  disabled_by TEXT
);

CREATE TABLE batches (
  id INTEGER PRIMARY KEY,
  runbook_id INTEGER NOT NULL,
  runbook_name TEXT NOT NULL,
  runbook_version INTEGER NOT NULL,
  kind TEXT NOT NULL CHECK (kind = 'source' OR kind = 'manual' OR kind = 'event'),
  is_manual BOOLEAN GENERATED ALWAYS AS (kind <> 'source') VIRTUAL,
  status TEXT NOT NULL
    CHECK (status = 'detected' OR status = 'init_dispatched' OR status = 'active' OR status = 'closing'
    OR status = 'completed' OR status = 'failed' OR status = 'cancelled'),
  batch_start_time TEXT,
  source_time TEXT,
  detected_at TEXT NOT NULL,
  init_dispatched_at TEXT,
  completed_at TEXT,
  created_by TEXT NOT NULL DEFAULT '',
  current_phase TEXT,
  idempotency_key TEXT,
  data_json TEXT NOT NULL DEFAULT '{}',
  outputs_json TEXT NOT NULL DEFAULT '{}',
  round INTEGER NOT NULL DEFAULT 0,
  advanced_at TEXT,
  wake_after INTEGER,
  ending_after INTEGER,
  is_cancelling BOOLEAN NOT NULL DEFAULT 0,
  outcome TEXT,
  ignored_version INTEGER,
  open_lanes INTEGER NOT NULL DEFAULT 0,
  open_phases INTEGER NOT NULL DEFAULT 0,
  members_active INTEGER NOT NULL DEFAULT 0,
  members_done INTEGER NOT NULL DEFAULT 0,
  members_failed INTEGER NOT NULL DEFAULT 0,
  members_removed INTEGER NOT NULL DEFAULT 0,
  members_cancelled INTEGER NOT NULL DEFAULT 0,
  counts TEXT GENERATED ALWAYS AS (
    '{"active":' || CAST(members_active AS TEXT) || ',"done":' || CAST(members_done AS TEXT)
    || ',"failed":' || CAST(members_failed AS TEXT) || ',"removed":' || CAST(members_removed AS TEXT)
    || ',"cancelled":' || CAST(members_cancelled AS TEXT) || '}') VIRTUAL
);
CREATE UNIQUE INDEX batches_identity ON batches (runbook_name, source_time) WHERE source_time IS NOT NULL;
CREATE UNIQUE INDEX batches_idempotency ON batches (runbook_name, idempotency_key) WHERE idempotency_key IS NOT NULL;
CREATE INDEX batches_open ON batches (runbook_name, id)
  WHERE status IN ('detected', 'init_dispatched', 'active', 'closing');
CREATE INDEX batches_wake ON batches (id) WHERE wake_after IS NOT NULL;
CREATE INDEX batches_ending ON batches (id) WHERE ending_after IS NOT NULL;

CREATE TABLE batch_members (
  id INTEGER PRIMARY KEY,
  batch_id INTEGER NOT NULL,
  member_key TEXT NOT NULL,
  generation INTEGER NOT NULL DEFAULT 1,
  status TEXT NOT NULL CHECK (status = 'active' OR status = 'done' OR status = 'failed' OR status = 'removed'
    OR status = 'cancelled'),
  data_json TEXT NOT NULL DEFAULT '{}',
  worker_data_json TEXT NOT NULL DEFAULT '{}',
  pinned_json TEXT NOT NULL DEFAULT '{}',
  absent_count INTEGER NOT NULL DEFAULT 0,
  has_left BOOLEAN NOT NULL DEFAULT 0,
  moved_to INTEGER,
  inherits_from INTEGER,
  inherited_json TEXT NOT NULL DEFAULT '[]',
  failures INTEGER NOT NULL DEFAULT 0,
  added_at TEXT NOT NULL,
  removed_at TEXT,
  failed_at TEXT,
  ended_at TEXT,
  add_dispatched_at TEXT GENERATED ALWAYS AS (added_at) VIRTUAL,
  remove_dispatched_at TEXT GENERATED ALWAYS AS (removed_at) VIRTUAL,
  UNIQUE (batch_id, member_key, generation)
);
CREATE INDEX batch_members_batch ON batch_members (batch_id);
CREATE INDEX batch_members_key ON batch_members (member_key, batch_id);

CREATE TABLE phase_executions (
  id INTEGER PRIMARY KEY,
  batch_id INTEGER NOT NULL,
  phase_name TEXT NOT NULL,
  phase_index INTEGER NOT NULL,
  runbook_version INTEGER NOT NULL,
  offset_minutes INTEGER NOT NULL,
  due_at TEXT,
  status TEXT NOT NULL CHECK (status = 'pending' OR status = 'dispatched' OR status = 'completed' OR status = 'failed'
    OR status = 'skipped' OR status = 'superseded' OR status = 'cancelled'),
  reason TEXT,
  dispatched_at TEXT,
  completed_at TEXT,
  opening_after INTEGER,
  members_at_opening INTEGER NOT NULL DEFAULT 0,
  lanes_total INTEGER NOT NULL DEFAULT 0,
  open_lanes INTEGER NOT NULL DEFAULT 0,
  lanes_succeeded INTEGER NOT NULL DEFAULT 0,
  lanes_failed INTEGER NOT NULL DEFAULT 0,
  lanes_cancelled INTEGER NOT NULL DEFAULT 0,
  lanes_started INTEGER NOT NULL DEFAULT 0,
  ring INTEGER NOT NULL DEFAULT 0,
  ring_started INTEGER NOT NULL DEFAULT 0,
  ring_failed INTEGER NOT NULL DEFAULT 0,
  ring_acknowledged INTEGER NOT NULL DEFAULT 0,
  UNIQUE (batch_id, runbook_version, phase_name)
);
CREATE INDEX phase_executions_due ON phase_executions (due_at, id) WHERE status = 'pending' AND due_at IS NOT NULL;
CREATE INDEX phase_executions_opening ON phase_executions (id) WHERE opening_after IS NOT NULL;

CREATE TABLE lanes (
  id INTEGER PRIMARY KEY,
  batch_id INTEGER NOT NULL,
  member_id INTEGER,
  phase_id INTEGER,
  kind TEXT NOT NULL
    CHECK (kind = 'phase' OR kind = 'init' OR kind = 'rollback' OR kind = 'removal' OR kind = 'member_failed'
    OR kind = 'finish'),
  sequence TEXT NOT NULL,
  runbook_version INTEGER NOT NULL,
  status TEXT NOT NULL CHECK (status = 'waiting' OR status = 'running' OR status = 'succeeded' OR status = 'failed'
    OR status = 'cancelled'),
  steps_total INTEGER NOT NULL,
  lane_order INTEGER NOT NULL DEFAULT 0,
  due_at TEXT,
  ring INTEGER NOT NULL DEFAULT -1,
  round INTEGER NOT NULL DEFAULT 0,
  cause_execution_id INTEGER,
  cancelled_by TEXT,
  is_inherited BOOLEAN NOT NULL DEFAULT 0,
  is_forced BOOLEAN NOT NULL DEFAULT 0,
  reason TEXT,
  next_at TEXT,
  deadline_at TEXT,
  deadline_from TEXT,
  context_json TEXT,
  started_at TEXT,
  closed_at TEXT,
  CHECK (kind <> 'phase' OR (phase_id IS NOT NULL AND member_id IS NOT NULL))
);
CREATE UNIQUE INDEX lanes_phase ON lanes (phase_id, member_id) WHERE kind = 'phase';
CREATE UNIQUE INDEX lanes_init ON lanes (batch_id, runbook_version) WHERE kind = 'init';
CREATE UNIQUE INDEX lanes_finish ON lanes (batch_id, round) WHERE kind = 'finish';
CREATE UNIQUE INDEX lanes_removal ON lanes (member_id) WHERE kind = 'removal';
CREATE UNIQUE INDEX lanes_member_failed ON lanes (member_id, round) WHERE kind = 'member_failed';
CREATE UNIQUE INDEX lanes_rollback ON lanes (cause_execution_id, round) WHERE kind = 'rollback';
CREATE INDEX lanes_member ON lanes (member_id) WHERE member_id IS NOT NULL;
CREATE INDEX lanes_batch ON lanes (batch_id) WHERE member_id IS NULL;
CREATE INDEX lanes_waiting ON lanes (batch_id, id) WHERE status = 'waiting';
CREATE INDEX lanes_ring ON lanes (phase_id, ring) WHERE ring >= 0 AND status IN ('waiting', 'running');
CREATE INDEX lanes_deadline ON lanes (deadline_at, id)
  WHERE status IN ('waiting', 'running') AND deadline_at IS NOT NULL;

CREATE TABLE executions (
  id INTEGER PRIMARY KEY,
  lane_id INTEGER NOT NULL,
  batch_id INTEGER NOT NULL,
  step_name TEXT NOT NULL,
  step_index INTEGER NOT NULL,
  runbook_version INTEGER NOT NULL,
  worker_id TEXT NOT NULL,
  function_name TEXT NOT NULL,
  params_json TEXT,
  status TEXT NOT NULL DEFAULT 'pending'
    CHECK (status = 'pending' OR status = 'dispatched' OR status = 'succeeded' OR status = 'failed'
    OR status = 'polling' OR status = 'poll_timeout' OR status = 'skipped' OR status = 'cancelled'
    OR status = 'rolled_back'),
  job_id TEXT,
  attempt INTEGER NOT NULL DEFAULT 0,
  retry_count INTEGER NOT NULL DEFAULT 0,
  max_retries INTEGER NOT NULL DEFAULT 0,
  retry_interval_sec REAL,
  retry_after TEXT,
  throttled_sec REAL NOT NULL DEFAULT 0,
  ready_at TEXT,
  priority INTEGER NOT NULL DEFAULT 5,
  first_dispatched_at TEXT,
  dispatched_at TEXT,
  completed_at TEXT,
  timeout_sec REAL NOT NULL DEFAULT 3600,
  is_one_way BOOLEAN NOT NULL DEFAULT 0,
  is_poll_step BOOLEAN NOT NULL DEFAULT 0,
  poll_interval_sec REAL,
  poll_timeout_sec REAL,
  poll_started_at TEXT,
  last_polled_at TEXT,
  poll_due_at TEXT,
  poll_count INTEGER NOT NULL DEFAULT 0,
  round INTEGER NOT NULL DEFAULT 0,
  error_message TEXT,
  error_type TEXT,
  cancelled_by TEXT,
  result_json TEXT,
  UNIQUE (lane_id, step_index)
);
CREATE INDEX executions_ready ON executions (worker_id, priority, batch_id, ready_at, id)
  WHERE status = 'pending' AND ready_at IS NOT NULL;
CREATE INDEX executions_one_way ON executions (batch_id) WHERE is_one_way;
CREATE INDEX executions_poll ON executions (poll_due_at, id) WHERE status = 'polling' AND poll_due_at IS NOT NULL;

-- A succeeded attempt's parameters and result are those of its execution: the view `attempts` shows them from there.
CREATE TABLE attempt_rows (
  id INTEGER PRIMARY KEY,
  execution_id INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  job_id TEXT NOT NULL,
  outcome TEXT NOT NULL
    CHECK (outcome = 'succeeded' OR outcome = 'failed' OR outcome = 'throttled' OR outcome = 'timeout'
    OR outcome = 'lost' OR outcome = 'poll_timeout' OR outcome = 'deadline' OR outcome = 'cancelled'
    OR outcome = 'marked_done'),
  worker TEXT,
  delivery INTEGER,
  dispatched_at TEXT,
  claimed_at TEXT,
  ended_at TEXT NOT NULL,
  poll_count INTEGER NOT NULL DEFAULT 0,
  function_name TEXT,
  params_json TEXT,
  result_json TEXT,
  error_message TEXT,
  error_type TEXT,
  duration_ms REAL,
  log TEXT
);
CREATE INDEX attempt_rows_execution ON attempt_rows (execution_id, attempt);

-- The row of a job has the id of its execution, so that an execution has at most one job out; a lease never outlives its
-- timeout, so that one index finds both. Other topics count from 2^48.
CREATE TABLE messages (
  id INTEGER PRIMARY KEY,
  topic TEXT NOT NULL CHECK (topic = 'worker-jobs' OR topic = 'worker-results' OR topic = 'orchestrator-events'),
  route TEXT NOT NULL,
  message_id TEXT NOT NULL,
  body TEXT NOT NULL,
  priority INTEGER NOT NULL DEFAULT 5,
  created_at TEXT NOT NULL,
  batch_id INTEGER,
  member_id INTEGER,
  lane_id INTEGER,
  execution_id INTEGER,
  function_name TEXT,
  timeout_sec REAL,
  is_poll BOOLEAN NOT NULL DEFAULT 0,
  published_at TEXT,
  claimed_by TEXT,
  claimed_at TEXT,
  lease_until TEXT,
  timeout_at TEXT,
  delivery INTEGER NOT NULL DEFAULT 1,
  is_draining BOOLEAN NOT NULL DEFAULT 0,
  CHECK (topic <> 'worker-jobs' OR id = execution_id)
);
CREATE INDEX messages_unclaimed ON messages (topic, route, priority, batch_id, id) WHERE claimed_at IS NULL;
CREATE INDEX messages_lease ON messages (lease_until, id) WHERE lease_until IS NOT NULL;
CREATE INDEX messages_draining ON messages (batch_id) WHERE is_draining;

CREATE TABLE handled_messages (
  message_id TEXT PRIMARY KEY,
  handled_at TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE late_results (
  id INTEGER PRIMARY KEY,
  job_id TEXT NOT NULL,
  digest TEXT NOT NULL,
  execution_id INTEGER,
  batch_id INTEGER,
  member_id INTEGER,
  is_success BOOLEAN NOT NULL,
  reason TEXT NOT NULL,
  result_json TEXT,
  error_message TEXT,
  received_at TEXT NOT NULL,
  seen INTEGER NOT NULL DEFAULT 1,
  UNIQUE (job_id, digest)
);

CREATE TABLE quarantine (
  id INTEGER PRIMARY KEY,
  topic TEXT NOT NULL,
  message_id TEXT,
  body TEXT NOT NULL,
  reason TEXT NOT NULL,
  received_at TEXT NOT NULL,
  replayed_at TEXT
);

CREATE TABLE holds (
  id INTEGER PRIMARY KEY,
  scope TEXT NOT NULL
    CHECK (scope = 'all' OR scope = 'runbook' OR scope = 'batch' OR scope = 'member' OR scope = 'phase'),
  kind TEXT NOT NULL CHECK (kind = 'pause' OR kind = 'gate' OR kind = 'brake' OR kind = 'freeze' OR kind = 'leavers'
    OR kind = 'move' OR kind = 'one_way' OR kind = 'old_t0' OR kind = 'rerun_init' OR kind = 'rollback'
    OR kind = 'removal' OR kind = 'late_success' OR kind = 'vanished' OR kind = 'over_cost'),
  state TEXT NOT NULL CHECK (state = 'waiting' OR state = 'approved' OR state = 'rejected' OR state = 'expired'
    OR state = 'lifted'),
  is_open BOOLEAN NOT NULL DEFAULT 1,
  runbook_name TEXT,
  batch_id INTEGER,
  member_id INTEGER,
  phase_id INTEGER,
  reason TEXT NOT NULL,
  evidence_json TEXT NOT NULL DEFAULT '{}',
  opened_at TEXT NOT NULL,
  opened_by TEXT NOT NULL,
  expires_at TEXT,
  closed_at TEXT,
  closed_by TEXT,
  note TEXT
);
CREATE INDEX holds_batch ON holds (batch_id) WHERE batch_id IS NOT NULL;
CREATE INDEX holds_wide ON holds (runbook_name) WHERE scope IN ('all', 'runbook');
CREATE INDEX holds_open ON holds (id) WHERE is_open;
CREATE INDEX holds_member ON holds (member_id) WHERE is_open AND scope = 'member';
CREATE INDEX holds_expiry ON holds (expires_at, id) WHERE is_open AND state = 'waiting' AND expires_at IS NOT NULL;

CREATE TABLE events (
  id INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  batch_id INTEGER,
  member_id INTEGER,
  entity TEXT NOT NULL
    CHECK (entity = 'execution' OR entity = 'lane' OR entity = 'member' OR entity = 'phase' OR entity = 'batch'
    OR entity = 'hold'),
  entity_id INTEGER NOT NULL,
  from_status TEXT,
  to_status TEXT NOT NULL,
  attempt INTEGER,
  cause TEXT NOT NULL,
  actor TEXT,
  detail TEXT
);
CREATE INDEX events_subject ON events (batch_id, member_id);

CREATE TABLE audit (
  id INTEGER PRIMARY KEY,
  at TEXT NOT NULL,
  actor TEXT NOT NULL,
  action TEXT NOT NULL,
  scope TEXT NOT NULL,
  subject TEXT NOT NULL,
  reason TEXT NOT NULL,
  outcome TEXT NOT NULL,
  detail_json TEXT NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_scope ON audit (scope, action);
CREATE TRIGGER audit_is_append_only_update BEFORE UPDATE ON audit
BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;
CREATE TRIGGER audit_is_append_only_delete BEFORE DELETE ON audit
BEGIN SELECT RAISE(ABORT, 'audit is append-only'); END;

-- What each source last said. `is_pending` marks a row that batches have not followed yet: whoever dies in between leaves
-- the mark, and the next answer goes on. `absent_count` counts successive complete answers without the row,
-- `missed_count` all of them; `doubt` is why its absence alone removes nobody. A current row's last time is its runbook's.
CREATE TABLE source_rows (
  id INTEGER PRIMARY KEY,
  runbook_name TEXT NOT NULL,
  member_key TEXT NOT NULL,
  member_twin TEXT NOT NULL,
  batch_time TEXT,
  first_seen_at TEXT NOT NULL,
  last_seen_at TEXT NOT NULL,
  present_since TEXT,
  is_current BOOLEAN NOT NULL DEFAULT 1,
  is_pending BOOLEAN NOT NULL DEFAULT 1,
  absent_count INTEGER NOT NULL DEFAULT 0,
  missed_count INTEGER NOT NULL DEFAULT 0,
  doubt TEXT,
  digest TEXT NOT NULL,
  data_json TEXT NOT NULL,
  UNIQUE (runbook_name, member_twin)
);
CREATE INDEX source_rows_current ON source_rows (runbook_name, id, missed_count) WHERE is_current;
CREATE INDEX source_rows_pending ON source_rows (runbook_name, batch_time, id) WHERE is_pending AND missed_count = 0;
CREATE INDEX source_rows_missed ON source_rows (runbook_name, id) WHERE is_pending AND missed_count > 0;

CREATE TABLE source_problems (
  id INTEGER PRIMARY KEY,
  runbook_name TEXT NOT NULL,
  kind TEXT NOT NULL CHECK (kind = 'row' OR kind = 'note' OR kind = 'left_out'),
  place TEXT NOT NULL,
  code TEXT NOT NULL,
  message TEXT NOT NULL,
  hint TEXT NOT NULL DEFAULT '',
  member_key TEXT,
  seen_at TEXT NOT NULL
);
CREATE INDEX source_problems_runbook ON source_problems (runbook_name, kind, id);

CREATE TABLE workers (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  worker_ids TEXT NOT NULL,
  host TEXT NOT NULL,
  pid INTEGER NOT NULL,
  process_started_at TEXT NOT NULL,
  functions_json TEXT NOT NULL DEFAULT '[]',
  version TEXT NOT NULL DEFAULT '',
  is_draining BOOLEAN NOT NULL DEFAULT 0,
  started_at TEXT NOT NULL,
  last_seen_at TEXT NOT NULL,
  stopped_at TEXT
);

CREATE TABLE limits (
  scope TEXT NOT NULL,
  in_flight INTEGER,
  per_minute INTEGER,
  tokens REAL NOT NULL DEFAULT 0,
  refilled_at TEXT,
  set_by TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (scope)
) WITHOUT ROWID;

CREATE TABLE payloads (
  id INTEGER PRIMARY KEY,
  digest TEXT NOT NULL,
  body TEXT NOT NULL,
  created_at TEXT NOT NULL
);

CREATE INDEX payloads_digest ON payloads (digest);

CREATE TABLE idempotency_keys (
  runbook_name TEXT NOT NULL,
  idempotency_key TEXT NOT NULL,
  batch_id INTEGER NOT NULL,
  digest TEXT NOT NULL,
  created_at TEXT NOT NULL,
  PRIMARY KEY (runbook_name, idempotency_key)
) WITHOUT ROWID;

CREATE VIEW attempts AS
SELECT a.id, a.execution_id, a.attempt, a.job_id, a.outcome, a.worker, a.delivery, a.dispatched_at, a.claimed_at, a.ended_at,
  a.poll_count, a.function_name,
  CASE WHEN a.outcome = 'succeeded' THEN coalesce(a.params_json, e.params_json) ELSE a.params_json END AS params_json,
  CASE WHEN a.outcome = 'succeeded' THEN coalesce(a.result_json, e.result_json) ELSE a.result_json END AS result_json,
  a.error_message, a.error_type, a.duration_ms, a.log
FROM attempt_rows a LEFT JOIN executions e ON e.id = a.execution_id;

-- A waiting or ended execution has no current job; readers still see the id of its last sending.
CREATE VIEW step_executions AS
SELECT e.id, l.phase_id AS phase_execution_id, l.member_id AS batch_member_id, e.batch_id, e.lane_id, l.kind, e.step_name,
  e.step_index, e.runbook_version, e.worker_id, e.function_name, e.params_json, e.status,
  COALESCE(e.job_id, CASE WHEN e.dispatched_at IS NOT NULL THEN 'step-' || e.id
    || CASE WHEN e.attempt > 0 THEN '-retry-' || e.attempt ELSE '' END
    || CASE WHEN e.poll_count > 0 THEN '-poll-' || e.poll_count ELSE '' END END) AS job_id,
  e.result_json, e.error_message, e.error_type, e.dispatched_at, e.completed_at, e.is_poll_step, e.poll_interval_sec,
  e.poll_timeout_sec, e.poll_started_at, e.last_polled_at, e.poll_count, e.attempt, e.retry_count, e.max_retries,
  e.retry_interval_sec, e.retry_after, e.is_one_way
FROM executions e JOIN lanes l ON l.id = e.lane_id
WHERE l.member_id IS NOT NULL;

CREATE VIEW init_executions AS
SELECT e.id, e.batch_id, e.lane_id, e.step_name, e.step_index, e.runbook_version, e.worker_id, e.function_name,
  e.params_json, e.status,
  COALESCE(e.job_id, CASE WHEN e.dispatched_at IS NOT NULL THEN 'init-' || e.id
    || CASE WHEN e.attempt > 0 THEN '-retry-' || e.attempt ELSE '' END
    || CASE WHEN e.poll_count > 0 THEN '-poll-' || e.poll_count ELSE '' END END) AS job_id,
  e.result_json, e.error_message, e.error_type, e.dispatched_at, e.completed_at, e.is_poll_step, e.poll_interval_sec,
  e.poll_timeout_sec, e.poll_started_at, e.last_polled_at, e.poll_count, e.attempt, e.retry_count, e.max_retries,
  e.retry_interval_sec, e.retry_after
FROM executions e JOIN lanes l ON l.id = e.lane_id
WHERE l.kind = 'init';
