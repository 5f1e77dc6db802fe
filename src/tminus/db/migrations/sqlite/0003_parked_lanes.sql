-- Lanes that are looked at again when a hold is lifted, a ring opens or an init succeeds: those that wait, and those
-- that run but were parked before their first job because a hold keeps them from beginning.

DROP INDEX lanes_waiting;
CREATE INDEX lanes_waiting ON lanes (batch_id, id) WHERE (status = 'waiting' OR (status = 'running' AND reason IS NOT NULL));
