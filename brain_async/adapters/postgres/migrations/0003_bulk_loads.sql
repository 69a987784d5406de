-- A bulk load is told from a rebuild by a mark of its own, so that its lease too can end with its connection: a load
-- whose process died keeps nobody waiting.
alter table brain_lex_state add column loading boolean not null default false;

create function brain_bulk_loading() returns boolean language sql stable as $$
    select s.loading and s.lease_until > now()
        and (s.lease_pid is null or exists (select from pg_stat_activity a where a.pid = s.lease_pid))
    from brain_lex_state s
$$;
