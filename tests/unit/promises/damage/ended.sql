-- Ann succeeded, bob failed and was rolled back, cid left and was cleaned up after; the batch is completed.

-- P01 ended 2 times
INSERT INTO attempt_rows (execution_id, attempt, job_id, outcome, ended_at) SELECT execution_id, attempt, job_id,
  outcome, ended_at FROM attempt_rows WHERE outcome = 'succeeded' LIMIT 1;

-- P01 ended twice
INSERT INTO events (at, batch_id, member_id, entity, entity_id, from_status, to_status, attempt, cause) SELECT at,
  batch_id, member_id, entity, entity_id, from_status, to_status, attempt, cause FROM events WHERE entity =
  'execution' AND to_status = 'succeeded' LIMIT 1;

-- P02 succeeded without
DELETE FROM attempt_rows WHERE outcome = 'succeeded';

-- P02 no attempt of it failed
UPDATE attempt_rows SET outcome = 'cancelled' WHERE outcome = 'failed';

-- P02 polling, but no attempt
UPDATE executions SET status = 'poll_timeout' WHERE status = 'rolled_back';

-- P03 before execution 2 had passed
UPDATE events SET id = -id WHERE entity = 'execution' AND to_status = 'dispatched' AND entity_id = 3;

-- P04 before init lane 1
UPDATE events SET id = 9999 WHERE entity = 'lane' AND entity_id = 1 AND id > 1;

-- P04 while batch 1 was
UPDATE events SET id = 9999 WHERE entity = 'batch' AND to_status = 'active';

-- P04 which goes first
UPDATE events SET id = -id WHERE entity = 'lane' AND to_status = 'running' AND entity_id = (SELECT id FROM lanes WHERE
  member_id = 1 AND sequence = 'cutover');

-- P05 is called attempt 4
UPDATE events SET attempt = 4 WHERE entity = 'execution' AND to_status = 'dispatched' AND entity_id = 2;

-- P05 of its lane was out
UPDATE events SET id = -id WHERE entity = 'execution' AND to_status = 'dispatched' AND entity_id = 3;

-- P05 is recorded under
UPDATE attempt_rows SET job_id = 'step-2-retry-1' WHERE execution_id = 2;

-- P05 but attempt 3 has ended
UPDATE attempt_rows SET attempt = 3 WHERE execution_id = 2;

-- P05 before its retry
UPDATE events SET at = (SELECT at FROM events e WHERE e.cause = 'retry') WHERE entity = 'execution' AND to_status =
  'dispatched' AND attempt = 1;

-- P05 was retried 1 times
UPDATE executions SET max_retries = 0, retry_count = 0 WHERE retry_count = 1;

-- P08 while member 2 was failed
UPDATE events SET id = -1 WHERE entity = 'member' AND to_status = 'failed';

-- P08 while batch 1 was completed
UPDATE events SET id = 9999 WHERE entity = 'execution' AND to_status = 'dispatched' AND entity_id = 3;

-- P08 was not running
UPDATE events SET id = 9999 WHERE entity = 'execution' AND to_status = 'dispatched' AND entity_id = 3;

-- P08 init execution 1
UPDATE events SET id = 9999 WHERE entity = 'execution' AND to_status = 'dispatched' AND entity_id = 1;

-- P09 there is no such move
INSERT INTO events (at, batch_id, member_id, entity, entity_id, from_status, to_status, attempt, cause) VALUES
  ('2026-01-02T00:00:00.000Z', 1, NULL, 'batch', 1, 'completed', 'closing', NULL, 'x');

-- P09 in nobody's name
INSERT INTO events (at, batch_id, member_id, entity, entity_id, from_status, to_status, attempt, cause) VALUES
  ('2026-01-02T00:00:00.000Z', 1, NULL, 'batch', 1, 'completed', 'active', NULL, 'retry');

-- P09 in nobody's name
INSERT INTO events (at, batch_id, member_id, entity, entity_id, from_status, to_status, attempt, cause) VALUES
  ('2026-01-02T00:00:00.000Z', 1, NULL, 'phase', 1, 'completed', 'dispatched', NULL, 'due');

-- P09 after lane
INSERT INTO events (at, batch_id, member_id, entity, entity_id, from_status, to_status, attempt, cause) VALUES
  ('2026-01-02T00:00:00.000Z', 1, 2, 'execution', 4, 'failed', 'pending', 1, 'retry');

-- P10 is still open
UPDATE executions SET status = 'pending' WHERE id = 3;

-- P10 without a step
UPDATE executions SET status = 'skipped' WHERE status = 'rolled_back';

-- P10 steps that did not
UPDATE executions SET status = 'failed' WHERE step_name = 'unlink';

-- P10 steps that did not
UPDATE executions SET status = 'failed' WHERE id = 3;

-- P11 but 0 of its 3 lanes
UPDATE phase_executions SET lanes_succeeded = 0 WHERE id = 1;

-- P11 phase 1 is failed
UPDATE phase_executions SET status = 'failed' WHERE id = 1;

-- P11 phase 1 is cancelled
UPDATE phase_executions SET status = 'cancelled' WHERE id = 1;

-- P11 phase 1 is skipped
UPDATE phase_executions SET status = 'skipped' WHERE id = 1;

-- P11 batch 1 is completed
UPDATE phase_executions SET status = 'failed';

-- P12 0 rollbacks of 1
DELETE FROM lanes WHERE kind = 'rollback';

-- P12 1 rollbacks of 0
UPDATE lanes SET cause_execution_id = 2 WHERE kind = 'rollback';

-- P12 has not succeeded
UPDATE lanes SET status = 'failed' WHERE kind = 'rollback';

-- P12 has succeeded
UPDATE executions SET status = 'failed' WHERE status = 'rolled_back';

-- P13 has removal steps
UPDATE lanes SET member_id = 1 WHERE kind = 'removal';

-- P13 without its removal
DELETE FROM lanes WHERE kind = 'removal';

-- P13 came back
UPDATE batch_members SET member_key = 'ann', generation = 2, status = 'failed' WHERE id = 2;

-- P15 its one_way
UPDATE executions SET is_one_way = 1 WHERE id = 6;

-- P17 cannot be read
UPDATE runbooks SET version = 2;

-- P19 0 attempts are kept
DELETE FROM attempt_rows WHERE execution_id = 2;

-- P22 it was due
UPDATE phase_executions SET due_at = '2026-01-01T01:00:00.001Z' WHERE id = 1;

-- P25 in the middle
UPDATE events SET from_status = NULL WHERE id = 9;
