-- Ann's create is claimed, bob polls, cid waits for his retry, dan's create is out and unclaimed.

-- P05 calls its job
UPDATE executions SET job_id = 'step-2-retry-7' WHERE id = {ann};

-- P05 still names
UPDATE executions SET job_id = 'step-9' WHERE id = {cid_waits};

-- P05 retries of
UPDATE executions SET retry_count = 9 WHERE id = {cid_waits};

-- P05 waits for step-2
UPDATE messages SET message_id = 'step-77' WHERE claimed_at IS NOT NULL;

-- P05 drains, but
UPDATE messages SET is_draining = 1 WHERE claimed_at IS NOT NULL;

-- P05 past its timeout
UPDATE messages SET lease_until = '2099-01-01T00:00:00.000Z' WHERE claimed_at IS NOT NULL;

-- P05 or without one
UPDATE messages SET lease_until = NULL WHERE claimed_at IS NOT NULL;

-- P05 is unclaimed, but
UPDATE messages SET claimed_by = 'ghost' WHERE id = {sent};

-- P06 nobody can take
DELETE FROM messages WHERE claimed_at IS NOT NULL;

-- P06 nobody can take
DELETE FROM messages WHERE claimed_at IS NULL;

-- P06 without a job
UPDATE executions SET job_id = NULL WHERE id = {ann};

-- P06 nobody will find it
UPDATE executions SET ready_at = NULL WHERE id = {cid_waits};

-- P06 no step to run
UPDATE executions SET status = 'cancelled', job_id = NULL WHERE lane_id = 2;

-- P07 delivered 11 times
UPDATE messages SET delivery = 11 WHERE claimed_at IS NOT NULL;

-- P08 though lane
UPDATE lanes SET status = 'cancelled' WHERE id = {sent_lane};

-- P08 waits, but a step of it is out
UPDATE lanes SET status = 'waiting' WHERE id = 2;

-- P08 though member
UPDATE batch_members SET status = 'removed' WHERE member_key = 'dan';

-- P08 waits for a worker
UPDATE batches SET status = 'cancelled';

-- P10 open_lanes
UPDATE phase_executions SET open_lanes = open_lanes - 1 WHERE id = 1;

-- P10 all of its lanes have ended
UPDATE phase_executions SET open_lanes = 0 WHERE id = 1;

-- P10 lanes_total
UPDATE phase_executions SET lanes_total = 9 WHERE id = 1;

-- P10 lanes_succeeded
UPDATE phase_executions SET lanes_succeeded = 1 WHERE id = 1;

-- P10 lanes_failed
UPDATE phase_executions SET lanes_failed = 1 WHERE id = 1;

-- P10 lanes_cancelled
UPDATE phase_executions SET lanes_cancelled = 1 WHERE id = 1;

-- P10 lanes_started
UPDATE phase_executions SET lanes_started = 1 WHERE id = 1;

-- P10 ring_started
UPDATE phase_executions SET ring_started = 1 WHERE id = 1;

-- P10 ring_failed
UPDATE phase_executions SET ring_failed = 1 WHERE id = 1;

-- P10 batch 1: open_lanes
UPDATE batches SET open_lanes = 0;

-- P10 batch 1: open_phases
UPDATE batches SET open_phases = 7;

-- P10 members_active
UPDATE batches SET members_active = 1;

-- P10 is completed with 4 open lanes
UPDATE phase_executions SET status = 'completed' WHERE id = 1;

-- P10 still being opened
UPDATE phase_executions SET status = 'completed', opening_after = 1 WHERE id = 1;

-- P10 but a step of it is still open
UPDATE lanes SET status = 'succeeded' WHERE id = 2;

-- P10 is completed with 4 open lanes
UPDATE batches SET status = 'completed';

-- P10 is completed with 2 open phases
UPDATE batches SET status = 'completed';

-- P10 is completed with 4 active
UPDATE batches SET status = 'completed';

-- P11 none of its phases
UPDATE batches SET status = 'completed';

-- P11 has no lane
DELETE FROM lanes WHERE id = 2;

-- P11 has 1 of its 2 steps
DELETE FROM executions WHERE step_name = 'sync' AND lane_id = 2;

-- P11 not the steps
UPDATE executions SET step_name = 'other' WHERE step_name = 'sync' AND lane_id = 2;

-- P13 open phase lanes
UPDATE batch_members SET status = 'removed' WHERE member_key = 'ann';

-- P14 still active here
UPDATE batch_members SET moved_to = 99 WHERE member_key = 'ann';

-- P16 nobody will ask
UPDATE executions SET poll_due_at = NULL WHERE id = {bob_polls};

-- P16 only after
UPDATE executions SET poll_due_at = '2099-01-01T00:00:00.000Z' WHERE id = {bob_polls};

-- P16 disagree
UPDATE messages SET is_poll = 1 WHERE claimed_at IS NOT NULL;

-- P17 is not as version
UPDATE executions SET timeout_sec = 1 WHERE id = {ann};

-- P17 is not as version
UPDATE executions SET worker_id = 'other' WHERE id = {ann};

-- P18 ['upn'] unfilled
UPDATE executions SET params_json = '{"User":"{{ upn }}"}' WHERE id = {ann};

-- P24 has no lane
UPDATE executions SET batch_id = 99 WHERE id = 2;

-- P24 has no batch, member or phase
UPDATE lanes SET phase_id = 99 WHERE id = 2;

-- P24 has no batch
UPDATE batch_members SET batch_id = 99 WHERE member_key = 'ann';

-- P24 has no batch
UPDATE phase_executions SET batch_id = 99 WHERE id = 2;

-- P24 which has no batch
UPDATE events SET batch_id = NULL WHERE entity = 'phase';

-- P24 has no execution
INSERT INTO messages SELECT 99, topic, route, 'step-99', body, priority, created_at, batch_id, member_id, lane_id, 99,
  function_name, timeout_sec, is_poll, published_at, claimed_by, claimed_at, lease_until, timeout_at, delivery,
  is_draining FROM messages LIMIT 1;

-- P25 its history at 0
UPDATE executions SET attempt = 3 WHERE id = {cid_waits};

-- P25 but its next move is from
DELETE FROM events WHERE entity = 'execution' AND to_status = 'dispatched';

-- P25 phase 2 is skipped
UPDATE phase_executions SET status = 'skipped' WHERE id = 2;

-- P25 lane 2 is failed
UPDATE lanes SET status = 'failed' WHERE id = 2;

-- P25 execution 2 is polling
UPDATE executions SET status = 'polling' WHERE id = 2;

-- P25 batch 1 is closing
UPDATE batches SET status = 'closing';

-- P25 member 1 is failed
UPDATE batch_members SET status = 'failed' WHERE id = 1;
