-- What the graph still has to be told. Triggers write it, so that no path that changes a row can forget it. One entry per
-- object and per edge at most; every write of an entry gives it a new version. Entries are written in ascending key
-- order within a statement, as the rows themselves are, so that writers never deadlock here.

create sequence brain_graph_versions;

create table brain_graph_outbox (
    object_id uuid primary key,
    namespace_id uuid not null,                       -- the nil UUID where none is known
    version bigint not null default nextval('brain_graph_versions'),
    stamp timestamptz,                                -- updated_at of the row; null for a reopened entry
    with_edges boolean not null default false         -- the node may have lost its edges
);
create index brain_graph_outbox_version on brain_graph_outbox (version);

create table brain_graph_edge_outbox (
    from_id uuid not null,
    to_id uuid not null,
    relation_type text collate "C" not null,
    namespace_id uuid not null,
    version bigint not null default nextval('brain_graph_versions'),
    stamp timestamptz,
    primary key (from_id, to_id, relation_type, namespace_id)
);
create index brain_graph_edge_outbox_version on brain_graph_edge_outbox (version);
create index brain_graph_edge_outbox_to on brain_graph_edge_outbox (to_id);

create function brain_outbox_inserted() returns trigger language plpgsql as $$
begin
    insert into brain_graph_outbox as b (object_id, namespace_id, stamp)
    select id, namespace_id, updated_at from new_rows where parent_id is null order by id
    on conflict (object_id) do update set
        namespace_id = excluded.namespace_id, version = excluded.version, stamp = excluded.stamp;
    return null;
end $$;

create function brain_outbox_updated() returns trigger language plpgsql as $$
begin
    insert into brain_graph_outbox as b (object_id, namespace_id, stamp, with_edges)
    select n.id, n.namespace_id, n.updated_at,
           n.parent_id is null and n.deleted_at is null and (o.parent_id is not null or o.deleted_at is not null)
    from new_rows n join old_rows o using (id)
    where n.parent_id is null or o.parent_id is null
    order by n.id
    on conflict (object_id) do update set
        namespace_id = excluded.namespace_id, version = excluded.version, stamp = excluded.stamp,
        with_edges = b.with_edges or excluded.with_edges;
    return null;
end $$;

create function brain_outbox_deleted() returns trigger language plpgsql as $$
begin
    insert into brain_graph_outbox as b (object_id, namespace_id)
    select id, namespace_id from old_rows where parent_id is null order by id
    on conflict (object_id) do update set version = excluded.version, stamp = null;
    return null;
end $$;

create function brain_outbox_edges() returns trigger language plpgsql as $$
begin
    insert into brain_graph_edge_outbox as b (from_id, to_id, relation_type, namespace_id, stamp)
    select from_id, to_id, relation_type, namespace_id, updated_at from new_rows
    order by from_id, to_id, relation_type, namespace_id
    on conflict (from_id, to_id, relation_type, namespace_id) do update set
        version = excluded.version, stamp = excluded.stamp;
    return null;
end $$;

create trigger brain_outbox_inserted after insert on brain_objects
    referencing new table as new_rows for each statement execute function brain_outbox_inserted();
create trigger brain_outbox_updated after update on brain_objects
    referencing old table as old_rows new table as new_rows for each statement execute function brain_outbox_updated();
create trigger brain_outbox_deleted after delete on brain_objects
    referencing old table as old_rows for each statement execute function brain_outbox_deleted();
create trigger brain_outbox_edges_inserted after insert on brain_edges
    referencing new table as new_rows for each statement execute function brain_outbox_edges();
create trigger brain_outbox_edges_updated after update on brain_edges
    referencing new table as new_rows for each statement execute function brain_outbox_edges();

-- What was written before there was an outbox: nobody knows whether the graph was told.
insert into brain_graph_outbox (object_id, namespace_id, stamp)
select id, namespace_id, updated_at from brain_objects where parent_id is null and deleted_at is null order by id;
insert into brain_graph_edge_outbox (from_id, to_id, relation_type, namespace_id, stamp)
select from_id, to_id, relation_type, namespace_id, updated_at from brain_edges where removed_at is null
order by from_id, to_id, relation_type, namespace_id;
