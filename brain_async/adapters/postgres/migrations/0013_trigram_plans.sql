-- Whether a term still stands in a live part is asked for one part only: the planner, which takes a rare term for a common
-- one, then reads the whole table from its start (0.7 s of a million parts) instead of the index on terms.
alter function brain_search_trigram set enable_seqscan = off;
