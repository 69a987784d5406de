-- A search of the portable backend needs to know in how many parts each of its terms stands, and should not have to count
-- the postings of frequent terms for it, nor to score them all.

-- For frequent terms, how many of the docs up to brain_lex_state.counted_to have them: written when the postings are
-- built, and after that as deltas when such a doc changes. Docs that came later are counted in the postings.
create table brain_frequencies (
    key bigint not null,
    df bigint not null
);
create index brain_frequencies_key on brain_frequencies (key) include (df);
alter table brain_lex_state add column counted_to bigint not null default 0;

-- While nobody can write to brain_objects.
create function brain_count_frequencies() returns void language plpgsql as $$
begin
    truncate brain_frequencies;
    insert into brain_frequencies
    select p.key, count(*) from brain_postings p group by p.key having count(*) >= {{frequent}};
    update brain_lex_state set counted_to = coalesce((select max(o.doc) from brain_objects o), 0);
end $$;

create or replace function brain_compact_counts() returns void language sql as $$
    with folded as (
        delete from brain_part_counts where ctid = any(array(select ctid from brain_part_counts for update skip locked))
        returning namespace_id, parts, terms
    )
    insert into brain_part_counts
    select namespace_id, sum(parts)::bigint, sum(terms)::bigint from folded group by namespace_id
    having sum(parts) <> 0 or sum(terms) <> 0;

    -- A key whose count has become 0 keeps its row: that is how it is known as counted here.
    with long as (
        select f.key from brain_frequencies f group by f.key having count(*) > 32
    ),
    folded as (
        delete from brain_frequencies where ctid = any(array(
            select f.ctid from brain_frequencies f where f.key in (select key from long) for update skip locked))
        returning key, df
    )
    insert into brain_frequencies select key, sum(df)::bigint from folded group by key;
$$;

create or replace function brain_unpost(_docs bigint[], _namespaces uuid[], _lexes text[]) returns void language sql as $$
    with gone as (
        delete from brain_postings p using (
            select distinct brain_posting_key(d.namespace_id, t.term) as key, d.doc
            from unnest(_docs, _namespaces, _lexes) d(doc, namespace_id, lex)
            cross join lateral unnest(string_to_array(d.lex, ' ')) t(term)
        ) gone
        where p.key = gone.key and p.doc = gone.doc
        returning p.key, p.doc
    )
    insert into brain_frequencies
    select g.key, -count(*) from gone g
    where g.doc <= (select s.counted_to from brain_lex_state s)
        and exists (select from brain_frequencies f where f.key = g.key)
    group by g.key
$$;

create or replace function brain_post_updated() returns trigger language plpgsql as $$
begin
    perform brain_unpost(array_agg(o.doc), array_agg(o.namespace_id), array_agg(o.lex))
    from old_rows o join new_rows n using (doc)
    where o.live and o.lex_len > 0 and (not n.live or n.lex is distinct from o.lex);
    with added as (
        insert into brain_postings
        select brain_posting_key(n.namespace_id, t.term), n.doc, count(*), n.lex_len
        from new_rows n join old_rows o using (doc) cross join lateral unnest(string_to_array(n.lex, ' ')) t(term)
        where n.live and n.lex_len > 0 and (not o.live or n.lex is distinct from o.lex)
        group by n.doc, n.namespace_id, t.term, n.lex_len
        order by 1, 2
        returning key, doc
    )
    insert into brain_frequencies
    select a.key, count(*) from added a
    where a.doc <= (select s.counted_to from brain_lex_state s)
        and exists (select from brain_frequencies f where f.key = a.key)
    group by a.key;
    return null;
end $$;

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
set plan_cache_mode = force_custom_plan
set jit = off
set work_mem = '64MB'
set enable_hashagg = off  -- the postings of a term come in the order of docs: merging them costs half as much as hashing
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
begin
    perform brain_require_lexical();
    select sum(c.parts), sum(c.terms)::float8 / nullif(sum(c.parts), 0), array_agg(distinct c.namespace_id)
    into total, mean_length, namespaces
    from brain_part_counts c where _namespace is null or c.namespace_id = _namespace;
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

    prefix := n;
    if not ({{restricted}}) and n <= {{merged_terms}} then
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
        >= greatest({{prunable}}, 2 * (select sum(d) from unnest(dfs[:prefix]) d)) loop
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

    if n <= {{merged_terms}} then
        select string_agg(format(
            '(select p.doc, ' || score || ' as score from brain_postings p where p.key = $1[%s] order by p.doc)',
            format('$2[%s]', i), i), ' union all ')
        into scored from generate_series(1, n) i;
    else
        scored := format(
            'select p.doc, ' || score || ' as score from unnest($1, $2) w(key, weight) join brain_postings p using (key)',
            'w.weight');
    end if;
    if {{restricted}} then
        return query execute format($q$
            with scored as (select u.doc, sum(u.score) as score from (%s) u group by u.doc)
            select o.id, o.parent_id, o.title, o.position, o.updated_at, s.score / 1e9::float8
            from scored s join brain_objects o on o.doc = s.doc
            where o.live and {{executed_filters}}
            order by s.score desc, o.updated_at desc, o.id
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
        using keys, weights, mean_length, _k, _namespace;
    end if;
end $fn$;
