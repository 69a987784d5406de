-- A filter on kinds or properties is met by the part or by its parent. Selective filters are resolved first, by the indexes,
-- and the channels then look at those parts alone; under the others the channels go through their parts best first and
-- check each.

-- The docs of the live parts that pass, or null when they are more than _most.
create function brain_matching(
    _most int, {{filter_arguments}}
) returns bigint[] language plpgsql stable
set plan_cache_mode = force_custom_plan
set jit = off
set enable_sort = on      -- brain_search_textsearch turns these off
set enable_seqscan = on
set enable_bitmapscan = on
set enable_hashjoin = on   -- and brain_search_portable these
set enable_mergejoin = on
as $fn$
declare
    docs bigint[];
begin
    docs := array(
        select o.doc from {{matching}} o limit _most + 1);
    return case when cardinality(docs) <= _most then docs end;
end $fn$;

create or replace function brain_search_vector(
    _query real[], _k int, {{filter_arguments}}
) returns setof brain_candidate language plpgsql stable
set plan_cache_mode = force_custom_plan
set jit = off
set hnsw.iterative_scan = relaxed_order
set hnsw.ef_search = 200
as $fn$
declare
    query halfvec := _query::halfvec;
    in_scope bigint;
    hits brain_candidate[];
begin
    if {{restricted}} then
        with matching as materialized (
            select o.doc, (o.embedding <=> query) + 0 as distance from {{matching}} o
            where o.embedding is not null
            limit {{exact_parts}} + 1
        ),
        counted as materialized (select count(*) as parts from matching),
        best as (
            select m.doc, m.distance from counted c join matching m on c.parts <= {{exact_parts}}
            order by m.distance fetch first (_k) rows with ties
        )
        select c.parts, array(
            select row(o.id, o.parent_id, o.title, o.position, o.updated_at, 1 - b.distance)::brain_candidate
            from best b join brain_objects o using (doc)
            order by b.distance, o.updated_at desc, o.id
            limit _k)
        into in_scope, hits from counted c;
        if in_scope <= {{exact_parts}} then
            return query select * from unnest(hits);
            return;
        end if;
    end if;
    if _k <= {{approximate_max_k}} and {{indexed}} then
        select coalesce(sum(c.parts), 0) into in_scope
        from brain_part_counts c where _namespace is null or c.namespace_id = _namespace;
        if in_scope > {{exact_parts}} then
            perform set_config('hnsw.ef_search', greatest(200, least(1000, 3 * _k))::text, true);
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

-- Whether a term still stands in a live part is asked for one part only: the planner, which takes a rare term for a common
-- one, then reads the whole table from its start (0.7 s of a million parts) instead of the index on terms.
create or replace function brain_search_trigram(
    _words text[], _k int, {{filter_arguments}}
) returns setof brain_candidate language plpgsql stable
set plan_cache_mode = force_custom_plan
set jit = off
set pg_trgm.similarity_threshold = 0.3
set enable_seqscan = off
as $fn$
declare
    word text;
    word_number int;
    threshold real;
    nearest record;
    kept text[];
    kept_similarities real[];
    near_terms text[] := '{}';
    near_words int[] := '{}';
    near_similarities real[] := '{}';
begin
    for word, word_number in select * from unnest(_words) with ordinality loop
        -- Three alive terms above the higher threshold are the three nearest; looking there first spares the index
        -- thousands of terms that only share a prefix.
        foreach threshold in array array[0.6, 0.3] loop
            perform set_config('pg_trgm.similarity_threshold', threshold::text, true);
            kept := '{}';
            kept_similarities := '{}';
            for nearest in
                select d.term, similarity(d.term, word) as closeness
                from (select distinct t.term from brain_terms t
                      where t.term % word and (_namespace is null or t.namespace_id = _namespace)) d
                order by closeness desc, d.term collate "C"
            loop
                continue when not exists (
                    select from brain_objects o
                    where o.live and o.terms @> array[nearest.term]
                    and (_namespace is null or o.namespace_id = _namespace));
                kept := kept || nearest.term;
                kept_similarities := kept_similarities || nearest.closeness;
                exit when cardinality(kept) = 3;
            end loop;
            exit when cardinality(kept) = 3;
        end loop;
        near_terms := near_terms || kept;
        near_words := near_words || array_fill(word_number, array[cardinality(kept)]);
        near_similarities := near_similarities || kept_similarities;
    end loop;
    if near_terms = '{}' then
        return;
    end if;
    return query
        select o.id, o.parent_id, o.title, o.position, o.updated_at, s.score
        from brain_objects o
        cross join lateral (
            select sum(best)::float8 / cardinality(_words) as score from (
                select max(n.closeness)::float8 as best
                from unnest(near_terms, near_words, near_similarities) n(term, word_number, closeness)
                where n.term = any(o.terms) group by n.word_number order by n.word_number) per_word) s
        where o.live and o.terms && near_terms and {{walked_filters}}
        order by s.score desc, o.updated_at desc, o.id
        limit _k;
end $fn$;

create or replace function brain_search_textsearch(
    _query text, _repeated text[], _weights float8[], _k int, {{filter_arguments}}
) returns setof brain_candidate language plpgsql stable
set enable_sort = off
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $fn$
declare
    wanted bigint := _k::bigint + 16;
    found bigint;
    lowest float8;
    repeated text;
    weight float8;
    hits brain_candidate[];
    parts bigint;
    matching bigint[];
    passing text := $q${{bound_walked_filters}}$q$;   -- the condition on each row
begin
    perform brain_require_lexical();
    select coalesce(sum(c.parts), 0) into parts
    from brain_part_counts c where _namespace is null or c.namespace_id = _namespace;
    if _namespace is not null and parts <= {{direct_parts}} then
        -- A scan of the index would read the hits of all other namespaces to fill the page of a small one.
        execute $q$
            select array_agg(row(x.id, x.parent_id, x.title, x.position, x.updated_at,
                                 round(-x.score::numeric, 6))::brain_candidate)
            from (
                select o.id, o.parent_id, o.title, o.position, o.updated_at,
                       o.lex <@> to_bm25query($1, 'brain_objects_bm25') as score
                from brain_objects o
                where o.live and o.namespace_id = $2 and {{bound_filters}}
                    and string_to_array(o.lex, ' ') && string_to_array($1, ' ')
                offset 0) x
            where x.score < 0
            $q$
        into hits
        using _query, {{filter_names}};
    else
        if {{restricted}} then
            matching := brain_matching(least({{exact_parts}}, greatest({{selective_parts}}, parts / 50))::int, {{filter_names}});
            if matching = '{}' then
                return;
            elsif matching is not null then
                passing := '((o.live and o.doc = any($14)) is true)';
            end if;
        end if;
        loop
            -- Dynamic, since a prepared plan recomputes the score of every row from its text; "is true" keeps the
            -- planner from leaving the BM25 index for another one, under which the current score is undefined.
            execute format($q$
                select count(*), max(x.score),
                       array_agg(row(x.id, x.parent_id, x.title, x.position, x.updated_at,
                                     round(-x.score::numeric, 6))::brain_candidate) filter (where x.score < 0)
                from (
                    select o.id, o.parent_id, o.title, o.position, o.updated_at, bm25_get_current_score() as score
                    from brain_objects o
                    where %s
                    order by o.lex <@> to_bm25query($1, 'brain_objects_bm25')
                    limit %s) x
                $q$, passing, wanted)
            into found, lowest, hits
            using _query, {{filter_names}}, matching;
            -- The index can return a row twice while it is being written to.
            hits := array(
                select row(h.id, h.parent_id, h.title, h.position, h.updated_at, max(h.score))::brain_candidate
                from unnest(hits) h group by h.id, h.parent_id, h.title, h.position, h.updated_at);
            -- Full only when the last of the k is strictly better than the last row read: otherwise a tie could have been cut.
            exit when found < wanted or lowest >= 0;
            exit when (select round(-lowest::numeric, 6) < h.score from unnest(hits) h order by h.score desc offset _k - 1 limit 1);
            exit when wanted > _k + {{tie_limit}};
            wanted := wanted * 4;
        end loop;
    end if;
    -- From the text: few queries repeat a word, and the index cannot be asked for a row.
    for repeated, weight in select * from unnest(_repeated, _weights) loop
        execute $q$
            select array_agg(row(h.id, h.parent_id, h.title, h.position, h.updated_at,
                h.score - $3 * round((o.lex <@> to_bm25query($1, 'brain_objects_bm25'))::numeric, 6))::brain_candidate)
            from (select * from unnest($2) order by score desc, updated_at desc, id limit $4) h
            join brain_objects o on o.id = h.id
            $q$
        into hits using repeated, hits, weight, _k + 16;
    end loop;
    return query select * from unnest(hits) h order by h.score desc, h.updated_at desc, h.id limit _k;
end $fn$;
