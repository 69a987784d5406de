-- The search channels as functions: planner settings are confined to them, plans are always made for the actual
-- arguments, and one round trip is enough on any pool.

create type brain_candidate as (
    id uuid,
    parent_id uuid,
    title text,
    position bigint,
    updated_at timestamptz,
    score float8
);

-- Each element of _groups is an array of alternatives; every group needs one that the properties contain.
create function brain_matches_all(_properties jsonb, _groups jsonb) returns boolean language sql immutable as $$
    select not exists (
        select from jsonb_array_elements(_groups) g
        where not exists (select from jsonb_array_elements(g.value) v where _properties @> v.value))
$$;

create function brain_posting_key(_namespace uuid, _term text) returns bigint language sql immutable parallel safe as $$
    select hashtextextended(_term collate "C", uuid_hash_extended(_namespace, 0))
$$;

create function brain_require_lexical() returns void language plpgsql stable as $$
begin
    if brain_lexical_stale() then
        raise exception 'the lexical index has to be rebuilt' using errcode = 'BRN01';
    end if;
end $$;

create function brain_search_vector(
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
    matching uuid[];
    hits brain_candidate[];
begin
    if _k <= {{approximate_max_k}} and {{indexed}} then
        select coalesce(sum(c.parts), 0) into in_scope
        from brain_part_counts c where _namespace is null or c.namespace_id = _namespace;
        if in_scope > {{exact_parts}} and {{restricted}} then
            select array_agg(c.id), count(*) into matching, in_scope from (
                select o.id from brain_objects o
                where o.live and o.embedding is not null and {{filters}}
                limit {{exact_parts}} + 1) c;
            if in_scope <= {{exact_parts}} then
                return query
                    select e.id, e.parent_id, e.title, e.position, e.updated_at, 1 - e.distance from (
                        select o.id, o.parent_id, o.title, o.position, o.updated_at,
                               (o.embedding <=> query) + 0 as distance
                        from brain_objects o where o.id = any(matching)) e
                    order by e.distance, e.updated_at desc, e.id
                    limit _k;
                return;
            end if;
        end if;
        if in_scope > {{exact_parts}} then
            perform set_config('hnsw.ef_search', greatest(200, least(1000, 3 * _k))::text, true);
            select array_agg(row(h.id, h.parent_id, h.title, h.position, h.updated_at, 1 - h.distance)::brain_candidate)
            into hits from (
                select o.id, o.parent_id, o.title, o.position, o.updated_at, o.embedding <=> query as distance
                from brain_objects o
                where o.live and {{filters}}
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
            from brain_objects o
            where o.live and o.embedding is not null and {{filters}}) e
        order by e.distance, e.updated_at desc, e.id
        limit _k;
end $fn$;

create function brain_search_trigram(
    _words text[], _k int, {{filter_arguments}}
) returns setof brain_candidate language plpgsql stable
set plan_cache_mode = force_custom_plan
set jit = off
set pg_trgm.similarity_threshold = 0.3
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
        where o.live and o.terms && near_terms and {{filters}}
        order by s.score desc, o.updated_at desc, o.id
        limit _k;
end $fn$;

-- The index scores each term once, however often the query repeats it: the best by that score are scored anew with what
-- the repeats add, _repeated[n] counting _weights[n] times more.
create function brain_search_textsearch(
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
begin
    perform brain_require_lexical();
    if _namespace is not null and {{direct_parts}} >= (
        select coalesce(sum(c.parts), 0) from brain_part_counts c where c.namespace_id = _namespace)
    then
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
                    where {{bound_filters}}
                    order by o.lex <@> to_bm25query($1, 'brain_objects_bm25')
                    limit %s) x
                $q$, wanted)
            into found, lowest, hits
            using _query, {{filter_names}};
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

-- True BM25 (k1 1.2, b 0.75) with the statistics of the namespace. Weights are added as integers of 1e-9: the sum, and
-- with it the order of ties, does not depend on the order in which the postings are read.
create function brain_search_portable(
    _terms text[], _k int, {{filter_arguments}}
) returns setof brain_candidate language plpgsql stable
set plan_cache_mode = force_custom_plan
set jit = off
set work_mem = '64MB'
as $fn$
declare
    total float8;
    mean_length float8;
    namespaces uuid[];
begin
    perform brain_require_lexical();
    select sum(c.parts), sum(c.terms)::float8 / nullif(sum(c.parts), 0), array_agg(distinct c.namespace_id)
    into total, mean_length, namespaces
    from brain_part_counts c where _namespace is null or c.namespace_id = _namespace;
    if coalesce(mean_length, 0) = 0 then
        return;
    end if;
    if {{restricted}} then
        return query
            with keys as materialized (
                select t.number, t.repeats, brain_posting_key(n.namespace_id, t.term) as key
                from (select u.term, count(*) as repeats, min(u.number) as number
                      from unnest(_terms) with ordinality u(term, number) group by u.term) t
                cross join unnest(namespaces) n(namespace_id)
            ),
            frequencies as (
                select k.number, sum(c.df)::float8 as df
                from keys k cross join lateral (select count(*) as df from brain_postings p where p.key = k.key) c
                group by k.number
            ),
            weights as materialized (
                select k.key, 1e9::float8 * 2.2::float8 * k.repeats
                    * ln(1::float8 + (total - f.df + 0.5::float8) / (f.df + 0.5::float8)) as weight
                from keys k join frequencies f using (number)
            ),
            scored as (
                select p.doc, sum((w.weight * p.tf / (p.tf + 0.3::float8 + 0.9::float8 * p.length / mean_length))::bigint)::bigint as score
                from weights w join brain_postings p using (key) group by p.doc
            )
            select o.id, o.parent_id, o.title, o.position, o.updated_at, s.score::float8 / 1e9::float8
            from scored s join brain_objects o on o.doc = s.doc
            where o.live and {{filters}}
            order by s.score desc, o.updated_at desc, o.id
            limit _k;
    else
        return query
            with keys as materialized (
                select t.number, t.repeats, brain_posting_key(n.namespace_id, t.term) as key
                from (select u.term, count(*) as repeats, min(u.number) as number
                      from unnest(_terms) with ordinality u(term, number) group by u.term) t
                cross join unnest(namespaces) n(namespace_id)
            ),
            frequencies as (
                select k.number, sum(c.df)::float8 as df
                from keys k cross join lateral (select count(*) as df from brain_postings p where p.key = k.key) c
                group by k.number
            ),
            weights as materialized (
                select k.key, 1e9::float8 * 2.2::float8 * k.repeats
                    * ln(1::float8 + (total - f.df + 0.5::float8) / (f.df + 0.5::float8)) as weight
                from keys k join frequencies f using (number)
            ),
            scored as (
                select p.doc, sum((w.weight * p.tf / (p.tf + 0.3::float8 + 0.9::float8 * p.length / mean_length))::bigint)::bigint as score
                from weights w join brain_postings p using (key) group by p.doc
            ),
            best as (select doc, score from scored order by score desc fetch first (_k) rows with ties)
            select o.id, o.parent_id, o.title, o.position, o.updated_at, b.score::float8 / 1e9::float8
            from best b join brain_objects o on o.doc = b.doc
            where o.live and (_namespace is null or o.namespace_id = _namespace)
            order by b.score desc, o.updated_at desc, o.id
            limit _k;
    end if;
end $fn$;

-- The postings of the portable backend. A key is a 64-bit hash of namespace and term, so that no dictionary has to be
-- kept; a doc's terms are found again through its lex.
create table brain_postings (
    key bigint not null,
    doc bigint not null,
    tf int not null,
    length int not null
);
-- Searches read the index alone as far as VACUUM has marked the table's pages.
alter table brain_postings set (autovacuum_vacuum_insert_scale_factor = 0.02);
create index brain_postings_key on brain_postings (key, doc) include (tf, length);

create function brain_post_inserted() returns trigger language plpgsql as $$
begin
    insert into brain_postings
    select brain_posting_key(n.namespace_id, t.term), n.doc, count(*), n.lex_len
    from new_rows n cross join lateral unnest(string_to_array(n.lex, ' ')) t(term)
    where n.live and n.lex_len > 0
    group by n.doc, n.namespace_id, t.term, n.lex_len
    order by 1, 2;
    return null;
end $$;

create function brain_unpost(_docs bigint[], _namespaces uuid[], _lexes text[]) returns void language sql as $$
    delete from brain_postings p using (
        select distinct brain_posting_key(d.namespace_id, t.term) as key, d.doc
        from unnest(_docs, _namespaces, _lexes) d(doc, namespace_id, lex)
        cross join lateral unnest(string_to_array(d.lex, ' ')) t(term)
    ) gone
    where p.key = gone.key and p.doc = gone.doc
$$;

create function brain_post_deleted() returns trigger language plpgsql as $$
begin
    perform brain_unpost(array_agg(doc), array_agg(namespace_id), array_agg(lex)) from old_rows where live and lex_len > 0;
    return null;
end $$;

create function brain_post_updated() returns trigger language plpgsql as $$
begin
    perform brain_unpost(array_agg(o.doc), array_agg(o.namespace_id), array_agg(o.lex))
    from old_rows o join new_rows n using (doc)
    where o.live and o.lex_len > 0 and (not n.live or n.lex is distinct from o.lex);
    insert into brain_postings
    select brain_posting_key(n.namespace_id, t.term), n.doc, count(*), n.lex_len
    from new_rows n join old_rows o using (doc) cross join lateral unnest(string_to_array(n.lex, ' ')) t(term)
    where n.live and n.lex_len > 0 and (not o.live or n.lex is distinct from o.lex)
    group by n.doc, n.namespace_id, t.term, n.lex_len
    order by 1, 2;
    return null;
end $$;
