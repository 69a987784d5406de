-- A search of the portable backend needs to know in how many parts each of its terms stands, and should not have to count
-- the postings of frequent terms for it.

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
    select p.key, count(*) from brain_postings p group by p.key having count(*) >= 1000;
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
