-- Objects, kinds, edges, and what the search channels need beside them.
-- Words in double braces are filled in by migrate.py.

create table brain_settings (
    key text primary key,
    value text not null
);

create table brain_objects (
    id uuid primary key,
    doc bigint generated always as identity unique,   -- short key of the portable backend's postings
    namespace_id uuid not null,
    parent_id uuid,
    position bigint,
    kind text not null,
    title text not null,
    summary text not null,
    content text not null,
    content_type text not null,
    properties jsonb not null,
    lex text,                                         -- index terms, encoded and space-joined; null unless a live part
    lex_len int not null,                             -- number of terms in lex
    terms text[] not null,                            -- key terms, for the trigram channel
    embedding halfvec({{dimension}}),
    embedding_model text not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    deleted_at timestamptz,
    parent_deleted boolean not null default false,
    live boolean generated always as (parent_id is not null and deleted_at is null and not parent_deleted) stored
);
-- The text goes out of line before the vector does: an exact scan then reads the main table alone.
alter table brain_objects alter column embedding set storage main;

create index brain_objects_parts on brain_objects (namespace_id, kind) where live;
create index brain_objects_parents on brain_objects (namespace_id, kind) where parent_id is null and deleted_at is null;
create index brain_objects_child on brain_objects (parent_id, position, id) where parent_id is not null;
create index brain_objects_properties on brain_objects using gin (properties jsonb_path_ops);
create index brain_objects_terms on brain_objects using gin (terms) where live;

create table brain_kinds (
    kind text primary key,
    spec jsonb not null,
    updated_at timestamptz not null default now()
);

create table brain_edges (
    from_id uuid not null,
    to_id uuid not null,
    relation_type text collate "C" not null,
    namespace_id uuid not null,                       -- the nil UUID for an edge without one
    note text not null,
    status text not null,
    role text not null,
    confidence float8 not null,
    evidence_id uuid,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    removed_at timestamptz,
    primary key (from_id, to_id, relation_type, namespace_id)
);
create index brain_edges_to on brain_edges (to_id) where removed_at is null;

-- The dictionary of the trigram channel. Terms are only ever added; the search skips those without a live part.
create table brain_terms (
    namespace_id uuid not null,
    term text collate "C" not null,
    primary key (namespace_id, term)
);
create index brain_terms_trigrams on brain_terms using gin (term gin_trgm_ops);

-- Live parts and their terms per namespace, as deltas that only ever get appended, so that writers never wait for
-- each other here; brain_compact_counts folds them.
create table brain_part_counts (
    namespace_id uuid not null,
    parts bigint not null,
    terms bigint not null
);
create index brain_part_counts_namespace on brain_part_counts (namespace_id);

create function brain_compact_counts() returns void language sql as $$
    with folded as (
        delete from brain_part_counts where ctid = any(array(select ctid from brain_part_counts for update skip locked))
        returning namespace_id, parts, terms
    )
    insert into brain_part_counts
    select namespace_id, sum(parts)::bigint, sum(terms)::bigint from folded group by namespace_id
    having sum(parts) <> 0 or sum(terms) <> 0
$$;

create function brain_count_inserted() returns trigger language plpgsql as $$
begin
    insert into brain_part_counts
    select namespace_id, count(*), sum(lex_len) from new_rows where live group by namespace_id;
    return null;
end $$;

create function brain_count_updated() returns trigger language plpgsql as $$
begin
    insert into brain_part_counts
    select namespace_id, sum(parts), sum(terms) from (
        select namespace_id, 1 as parts, lex_len as terms from new_rows where live
        union all
        select namespace_id, -1, -lex_len from old_rows where live
    ) changes
    group by namespace_id having sum(parts) <> 0 or sum(terms) <> 0;
    return null;
end $$;

create function brain_count_deleted() returns trigger language plpgsql as $$
begin
    insert into brain_part_counts
    select namespace_id, -count(*), -sum(lex_len) from old_rows where live group by namespace_id;
    return null;
end $$;

create trigger brain_count_inserted after insert on brain_objects
    referencing new table as new_rows for each statement execute function brain_count_inserted();
create trigger brain_count_updated after update on brain_objects
    referencing old table as old_rows new table as new_rows for each statement execute function brain_count_updated();
create trigger brain_count_deleted after delete on brain_objects
    referencing old table as old_rows for each statement execute function brain_count_deleted();

-- One row: which lexical backend is kept up, and how far its index can be trusted (lexical_index.py).
create table brain_lex_state (
    one boolean primary key default true check (one),
    backend text not null,
    guarded boolean not null default false,           -- pg_textsearch below 1.3.1: its index is a cache
    built_at timestamptz,                             -- null: not built
    dirty boolean not null default false,             -- written to since built_at
    pending boolean not null default false,           -- written to since the rebuild that is running began
    lease_until timestamptz,                          -- a rebuild or bulk load is running
    lease_pid int
);
create unlogged table brain_lex_marker (
    one boolean primary key                           -- emptied by crash recovery
);

create function brain_mark_lexical_dirty() returns trigger language plpgsql as $$
begin
    update brain_lex_state set dirty = true, pending = true where not (dirty and pending);
    return null;
end $$;

-- A guarded index loses rows in crash recovery, in any restart after it was written to, and when rows take the places
-- that VACUUM freed.
create function brain_lexical_stale() returns boolean language sql stable as $$
    select s.built_at is null or (s.guarded and (
        not exists (select from brain_lex_marker)
        or (s.dirty and s.built_at < greatest(
            pg_postmaster_start_time(),
            pg_stat_get_last_vacuum_time('brain_objects'::regclass),
            pg_stat_get_last_autovacuum_time('brain_objects'::regclass)))))
    from brain_lex_state s
$$;

-- Locks every row a write will touch in one ascending pass over their ids, so that writers can never deadlock: the
-- objects themselves exclusively, the parents they refer to shared. Objects that are about to be undeleted, or deleted
-- (_families), bring their parts along. Returns what is known of them once they are locked.
create function brain_lock(_ids uuid[], _parents uuid[], _families uuid[])
returns table (id uuid, namespace_id uuid, part boolean, deleted boolean, has_parts boolean) language plpgsql as $$
#variable_conflict use_column
declare
    run record;
begin
    for run in
        select array_agg(n.id) as ids, n.exclusive from (
            select w.id, w.exclusive, row_number() over (order by w.id) as number,
                   row_number() over (partition by w.exclusive order by w.id) as number_of_kind
            from (
                select e.id, bool_or(e.exclusive) as exclusive from (
                    select o.id, true as exclusive from brain_objects o where o.id = any(_ids)
                    union all
                    select o.id, false from brain_objects o where o.id = any(_parents)
                    union all
                    select o.id, true from brain_objects o where o.parent_id = any(_families)
                    union all
                    select o.id, true from brain_objects o join brain_objects d on d.id = o.parent_id
                    where d.id = any(_ids) and d.deleted_at is not null
                ) e
                group by e.id
            ) w
        ) n
        group by n.number - n.number_of_kind, n.exclusive order by min(n.number)
    loop
        if run.exclusive then
            perform from brain_objects o where o.id = any(run.ids) order by o.id for no key update;
        else
            perform from brain_objects o where o.id = any(run.ids) order by o.id for share;
        end if;
    end loop;
    return query
        select o.id, o.namespace_id, o.parent_id is not null, o.deleted_at is not null,
               exists (select from brain_objects c where c.parent_id = o.id and c.deleted_at is null)
        from brain_objects o where o.id = any(_ids || _parents);
end $$;
