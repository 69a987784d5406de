-- A deletion that the edge ledger may not have heard of stays on record when the object is put again before the entry is
-- settled: its links of before must not come back with it.

alter table brain_graph_outbox add column deleted_at timestamptz;

create or replace function brain_outbox_updated() returns trigger language plpgsql as $$
begin
    insert into brain_graph_outbox as b (object_id, namespace_id, stamp, with_edges, deleted_at)
    select n.id, n.namespace_id, n.updated_at,
           n.parent_id is null and n.deleted_at is null and (o.parent_id is not null or o.deleted_at is not null),
           case when o.deleted_at is null then n.deleted_at end
    from new_rows n join old_rows o using (id)
    where n.parent_id is null or o.parent_id is null
    order by n.id
    on conflict (object_id) do update set
        namespace_id = excluded.namespace_id, version = excluded.version, stamp = excluded.stamp,
        with_edges = b.with_edges or excluded.with_edges, deleted_at = coalesce(excluded.deleted_at, b.deleted_at);
    return null;
end $$;
