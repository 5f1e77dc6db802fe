-- Ann was paused and resumed, bob failed and was tried again by hand; everybody is done.

-- P09 in nobody's name
UPDATE events SET actor = NULL WHERE entity = 'member' AND to_status = 'active';

-- P09 is_open = 1
UPDATE holds SET is_open = 1;

-- P25 hold 1 is approved
UPDATE holds SET state = 'approved';

-- P29 without an audit
DELETE FROM audit;

-- P29 without an audit
UPDATE audit SET actor = 'eve';
