-- The vector channel. Without a filter beyond the namespace its statement needs no plan for the actual arguments, and where
-- the scope is a fair share of the table the HNSW index serves also small ones.

-- Scopes of at most so many parts are compared one by one: comparing takes a microsecond, a step through the index ten times
-- that, and there are at least k times (all parts / parts of the scope) steps. reltuples: all parts as the last vacuum or
-- build of the index saw them, 0 or less where there was none yet.
create function brain_exact_parts() returns int language sql stable as $$
    select least({{exact_parts}}, greatest({{least_exact_parts}}, sqrt(500 * greatest(c.reltuples, 0))))::int
    from (select coalesce((
        select c.reltuples::float8 from pg_class c where c.oid = to_regclass('brain_objects_embedding')), 0) as reltuples) c
$$;

-- Wide enough for k, and wider by 40 for each tenfold of parts: recall@50 of 0.9998, 0.998 and 0.979 for 10,000, 100,000 and
-- 1,000,000 (benchmarks/bench_scale.py).
create function brain_ef_search(_k int, _parts bigint) returns text language sql immutable as $$
    select least(1000, greatest(2 * _k + 32, 40 * (log(_parts) - 1)))::int::text
$$;

-- What is filtered, compared one by one, or was not found through the index by brain_search_vector.
create function brain_search_vector_filtered(
    _query real[], _k int, {{filter_arguments}}
) returns setof brain_candidate language plpgsql stable
set plan_cache_mode = force_custom_plan
set jit = off
set enable_seqscan = on      -- brain_search_vector turns these off
set enable_bitmapscan = on
set enable_sort = on
set hnsw.iterative_scan = relaxed_order
set hnsw.ef_search = 200
as $fn$
declare
    query halfvec := _query::halfvec;
    exact_parts int := brain_exact_parts();
    in_scope bigint;
    hits brain_candidate[];
begin
    with matching as materialized (
        select o.doc, (o.embedding <=> query) + 0 as distance from {{matching}} o
        where o.embedding is not null
        limit exact_parts + 1
    ),
    counted as materialized (select count(*) as parts from matching),
    best as (
        select m.doc, m.distance from counted c join matching m on c.parts <= exact_parts
        order by m.distance fetch first (_k) rows with ties
    )
    select c.parts, array(
        select row(o.id, o.parent_id, o.title, o.position, o.updated_at, 1 - b.distance)::brain_candidate
        from best b join brain_objects o using (doc)
        order by b.distance, o.updated_at desc, o.id
        limit _k)
    into in_scope, hits from counted c;
    if in_scope <= exact_parts then
        return query select * from unnest(hits);
        return;
    end if;
    if {{restricted}} and _k <= {{approximate_max_k}} and {{indexed}} then
        select coalesce(sum(c.parts), 1) into in_scope
        from brain_part_counts c where _namespace is null or c.namespace_id = _namespace;
        perform set_config('hnsw.ef_search', brain_ef_search(_k, greatest(1, in_scope)), true);
        select array_agg(row(h.id, h.parent_id, h.title, h.position, h.updated_at, 1 - h.distance)::brain_candidate)
        into hits from (
            select o.id, o.parent_id, o.title, o.position, o.updated_at, o.embedding <=> query as distance
            from brain_objects o
            where o.live and {{walked_filters}}
            order by o.embedding <=> query
            limit _k + 16) h;
        if cardinality(hits) >= _k then
            return query select * from unnest(hits) h order by h.score desc, h.updated_at desc, h.id limit _k;
            return;
        end if;
        -- The scan gave up before the page was full: fewer parts of the scope have a vector, or they lie too far away.
    end if;
    return query
        select e.id, e.parent_id, e.title, e.position, e.updated_at, 1 - e.distance from (
            -- The addition keeps the planner from taking the order of the approximate index.
            select o.id, o.parent_id, o.title, o.position, o.updated_at, (o.embedding <=> query) + 0 as distance
            from {{matching}} o
            where o.embedding is not null) e
        order by e.distance, e.updated_at desc, e.id
        limit _k;
end $fn$;

create or replace function brain_search_vector(
    _query real[], _k int, {{filter_arguments}}
) returns setof brain_candidate language plpgsql stable
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off
set hnsw.iterative_scan = relaxed_order
set hnsw.ef_search = 200
as $fn$
declare
    query halfvec := _query::halfvec;
    in_scope bigint;
    hits brain_candidate[];
begin
    if not ({{restricted}}) and _k <= {{approximate_max_k}} and {{indexed}} then
        select coalesce(sum(c.parts), 0) into in_scope
        from brain_part_counts c where _namespace is null or c.namespace_id = _namespace;
        if in_scope > {{least_exact_parts}} and in_scope > brain_exact_parts() then
            perform set_config('hnsw.ef_search', brain_ef_search(_k, in_scope), true);
            hits := array(
                select row(o.id, o.parent_id, o.title, o.position, o.updated_at, 1 - (o.embedding <=> query))::brain_candidate
                from brain_objects o
                where o.live and (_namespace is null or o.namespace_id = _namespace)
                order by o.embedding <=> query
                limit _k + 16);
            if cardinality(hits) >= _k then
                return query select * from unnest(hits) h order by h.score desc, h.updated_at desc, h.id limit _k;
                return;
            end if;
        end if;
    end if;
    return query select * from brain_search_vector_filtered(_query, _k, {{filter_names}});
end $fn$;
