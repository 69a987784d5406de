-- On a hot standby the marker, which is not logged, cannot even be planned for: only a guarded index asks for it, and such
-- an index is not trusted there.
create or replace function brain_lexical_stale() returns boolean language plpgsql stable as $$
declare
    state brain_lex_state;
begin
    select * into state from brain_lex_state;
    if not found then
        return null;
    end if;
    if state.built_at is null or not state.guarded then
        return state.built_at is null;
    end if;
    if pg_is_in_recovery() then
        return true;
    end if;
    return not exists (select from brain_lex_marker)
        or (state.dirty and state.built_at < greatest(
            pg_postmaster_start_time(),
            pg_stat_get_last_vacuum_time('brain_objects'::regclass),
            pg_stat_get_last_autovacuum_time('brain_objects'::regclass)));
end $$;
