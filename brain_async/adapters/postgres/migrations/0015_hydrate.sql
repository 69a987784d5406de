-- The rows of one page: _objects whole, but for content and embedding, and of _parts what evidence shows. A function, since
-- planning the statement anew takes as long as running it.
create function brain_hydrate(_namespace uuid, _objects uuid[], _parts uuid[]) returns table (
    whole boolean, id uuid, kind text, title text, summary text, content_type text, properties text, parent_id uuid,
    "position" bigint, language text, embedding_model text, namespace_id uuid, created_at timestamptz, updated_at timestamptz,
    content text
) language plpgsql stable
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
as $fn$
begin
    return query
        select true, o.id, o.kind, o.title, o.summary, o.content_type, o.properties::text, o.parent_id, o.position,
            o.language, o.embedding_model, o.namespace_id, o.created_at, o.updated_at, ''
        from brain_objects o
        where o.id = any(_objects) and o.deleted_at is null and (_namespace is null or o.namespace_id = _namespace);
    return query
        select false, o.id, '', o.title, '', '', '{}', o.parent_id, o.position,
            '', '', null::uuid, null::timestamptz, null::timestamptz,
            left(ltrim(o.content, E' \t\n\r\f\v'), {{evidence_chars}})
        from brain_objects o
        where o.id = any(_parts) and o.deleted_at is null and (_namespace is null or o.namespace_id = _namespace);
end $fn$;
