-- The portable backend leaves out postings that cannot matter, merges the others, and answers a search over few postings by
-- statements whose plans are kept: planning took longer than they do.

-- True BM25 with the statistics of the namespace: idf ln(1 + (N - df + 0.5) / (df + 0.5)), k1 1.2, b 0.75; a query term
-- counts as often as it is repeated. The score of a posting is rounded to a whole number of 1e-9, so that sums are exact
-- (below 2^53) and do not depend on the order in which the postings are read.
--
-- Terms are taken by falling weight. A posting is worth less than its term's weight: once the k best by the first terms
-- alone are better than all that the other terms could add up to, no part without one of the first terms can be on the
-- page, and the others' postings are looked up for those parts only that they could still lift onto it.
create or replace function brain_search_portable(
    _terms text[], _k int, {{filter_arguments}}
) returns setof brain_candidate language plpgsql stable
set plan_cache_mode = force_generic_plan
set jit = off
set work_mem = '64MB'
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_hashagg = on
as $fn$
declare
    total float8;
    mean_length float8;
    namespaces uuid[];
    counted bigint;
    keys bigint[];
    weights float8[];
    dfs float8[];
    rests float8[];   -- what the terms after each could add
    n int;
    prefix int;
    scored text;
    score constant text := 'round(%s * p.tf / (p.tf + 0.3::float8 + 0.9::float8 * p.length / $3))';
    others text;
    matching bigint[];
begin
    perform brain_require_lexical();
    if _namespace is null then
        select sum(c.parts), sum(c.terms)::float8 / nullif(sum(c.parts), 0), array_agg(distinct c.namespace_id)
        into total, mean_length, namespaces from brain_part_counts c;
    else
        select sum(c.parts), sum(c.terms)::float8 / nullif(sum(c.parts), 0), array[_namespace]
        into total, mean_length, namespaces from brain_part_counts c where c.namespace_id = _namespace;
    end if;
    if coalesce(mean_length, 0) = 0 then
        return;
    end if;
    counted := (select s.counted_to from brain_lex_state s);
    with terms as materialized (
        select t.number, t.repeats, brain_posting_key(n.namespace_id, t.term) as key
        from (select u.term, count(*) as repeats, min(u.number) as number
              from unnest(_terms) with ordinality u(term, number) group by u.term) t
        cross join unnest(namespaces) n(namespace_id)
    ),
    counts as materialized (
        select t.number, t.repeats, t.key, c.df::float8 as df
        from terms t
        cross join lateral (select sum(f.df) as df from brain_frequencies f where f.key = t.key) f
        cross join lateral (
            select coalesce(f.df, 0) + count(*) as df from brain_postings p
            where p.key = t.key and p.doc > case when f.df is null then -1 else counted end) c
    ),
    weighted as (
        select c.key, c.df, 1e9::float8 * 2.2::float8 * c.repeats
            * ln(1::float8 + (total - a.df + 0.5::float8) / (a.df + 0.5::float8)) as weight
        from counts c join (select number, sum(df) as df from counts group by number) a using (number)
        where c.df > 0
    )
    select array_agg(w.key order by w.weight desc, w.key), array_agg(w.weight order by w.weight desc, w.key),
           array_agg(w.df order by w.weight desc, w.key), count(*)
    into keys, weights, dfs, n
    from weighted w;
    if n = 0 then
        return;
    end if;

    if {{restricted}} then
        matching := brain_matching(least({{exact_parts}}, greatest({{selective_parts}}, total / 50))::int, {{filter_names}});
        if matching = '{}' then
            return;
        end if;
    end if;

    if not ({{restricted}}) and (select sum(d) from unnest(dfs) d) < 1500 then
        return query
            with scored as (
                select p.doc, sum(round(
                    w.weight * p.tf / (p.tf + 0.3::float8 + 0.9::float8 * p.length / mean_length))) as points
                from unnest(keys, weights) w(key, weight) join brain_postings p on p.key = w.key group by p.doc
            ),
            best as (select doc, points from scored order by points desc fetch first (_k) rows with ties)
            select o.id, o.parent_id, o.title, o.position, o.updated_at, b.points / 1e9::float8
            from best b join brain_objects o on o.doc = b.doc
            where o.live and (_namespace is null or o.namespace_id = _namespace)
            order by b.points desc, o.updated_at desc, o.id
            limit _k;
        return;
    end if;

    -- The postings of a term come in the order of docs: merging many of them costs half as much as hashing, though the
    -- statements for it have to be planned anew.
    perform set_config('enable_hashagg', 'off', true);
    prefix := n;
    if not ({{restricted}}) and n <= 24 then
        rests := array_fill(0::float8, array[n]);
        for i in reverse n - 1 .. 1 loop
            rests[i] := rests[i + 1] + weights[i + 1];
        end loop;
        -- The best parts hardly ever reach more than their rarest term could give in all.
        prefix := 1;
        while prefix < n and (
            rests[prefix] > weights[1] or (select sum(d) from unnest(dfs[:prefix]) d) < 4 * _k
        ) loop
            prefix := prefix + 1;
        end loop;
    end if;
    -- Looking a posting up costs about ten times as much as merging it, and a fifth of the parts are looked up.
    while prefix < n and (select sum(d) from unnest(dfs[prefix + 1:]) d)
        >= greatest(3000, 2 * (select sum(d) from unnest(dfs[:prefix]) d)) loop
        select string_agg(format(
            '(select p.doc, ' || score || ' as score from brain_postings p where p.key = $1[%s] order by p.doc)',
            format('$2[%s]', i), i), ' union all ')
        into scored from generate_series(1, prefix) i;
        others := format(
            '(select coalesce(sum(' || score || '), 0) as score from unnest($1[%s:], $2[%s:]) w(key, weight)'
            ' join brain_postings p on p.key = w.key and p.doc = x.doc)', 'w.weight', prefix + 1, prefix + 1);
        return query execute format($q$
            with partial as materialized (
                select u.doc, sum(u.score) as score from (%1$s) u group by u.doc
            ),
            lowest as materialized (
                select x.score + f.score as score
                from (select * from partial order by score desc limit 3 * $4) x cross join lateral %2$s f
                order by 1 desc offset $4 - 1 limit 1
            ),
            best as (
                select x.doc, x.score + f.score as score
                from lowest l join partial x on l.score > $5 and x.score >= l.score - $5 cross join lateral %2$s f
                order by 2 desc fetch first ($4) rows with ties
            )
            select o.id, o.parent_id, o.title, o.position, o.updated_at, b.score / 1e9::float8
            from best b join brain_objects o on o.doc = b.doc
            where o.live and ($6 is null or o.namespace_id = $6)
            order by b.score desc, o.updated_at desc, o.id
            limit $4
            $q$, scored, others)
        using keys, weights, mean_length, _k, rests[prefix], _namespace;
        if found then
            return;
        end if;
        prefix := prefix + 1;
    end loop;

    if n <= 24 then
        select string_agg(format(
            '(select p.doc, ' || score || ' as score from brain_postings p where p.key = $1[%s]%s order by p.doc)',
            format('$2[%s]', i), i, case
                -- The addition keeps the array out of the index: merging beats looking up unless the parts are few.
                when dfs[i] < 10 * cardinality(matching) then ' and p.doc + 0 = any($6)'
                when matching is not null then ' and p.doc = any($6)'
            end), ' union all ')
        into scored from generate_series(1, n) i;
    else
        scored := format(
            'select p.doc, ' || score || ' as score from unnest($1, $2) w(key, weight) join brain_postings p on p.key = w.key%s',
            'w.weight', case when matching is not null then ' and p.doc + 0 = any($6)' end);
    end if;
    if {{restricted}} and matching is null then
        return query execute format($q$
            with scored as (select u.doc, sum(u.score) as score from (%s) u group by u.doc)
            select b.id, b.parent_id, b.title, b.position, b.updated_at, b.score / 1e9::float8
            from (
                select s.score, f.* from (select * from scored order by score desc) s
                cross join lateral (
                    select o.id, o.parent_id, o.title, o.position, o.updated_at from brain_objects o
                    where o.doc = s.doc and o.live and {{executed_walked_filters}}
                    offset 0) f
                order by s.score desc fetch first ($4) rows with ties) b
            order by b.score desc, b.updated_at desc, b.id
            limit $4
            $q$, scored)
        using keys, weights, mean_length, _k, {{filter_names}};
    else
        return query execute format($q$
            with scored as (select u.doc, sum(u.score) as score from (%s) u group by u.doc),
            best as (select doc, score from scored order by score desc fetch first ($4) rows with ties)
            select o.id, o.parent_id, o.title, o.position, o.updated_at, b.score / 1e9::float8
            from best b join brain_objects o on o.doc = b.doc
            where o.live and ($5 is null or o.namespace_id = $5)
            order by b.score desc, o.updated_at desc, o.id
            limit $4
            $q$, scored)
        using keys, weights, mean_length, _k, _namespace, matching;
    end if;
end $fn$;
