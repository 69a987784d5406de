-- The postings of the portable backend are packed: blocks of a few hundred postings of one term, 8 bytes each instead of
-- nearly a hundred, which a search reads whole and the client scores (postings.py). What is written after they were packed
-- goes to brain_postings, one row a posting, until brain_pack_postings moves it.

drop function brain_search_portable;
drop function brain_count_frequencies;
drop table brain_frequencies;
alter table brain_lex_state drop column counted_to;
alter table brain_lex_state add column packed_to bigint not null default 0;   -- the newest doc when postings were packed last
update brain_lex_state set built_at = null where backend = 'portable';   -- the postings are built anew
truncate brain_postings;

-- tf 0 takes back the packed posting of the same key and doc; a posting of greater tf may stand beside it.
comment on column brain_postings.tf is 'how often the term stands in the part; 0: the packed posting no longer counts';

create table brain_posting_blocks (
    key bigint not null,                              -- as in brain_postings
    first_doc bigint not null,
    last_doc bigint not null,                         -- no two blocks of a key overlap
    postings bytea not null,                          -- of each, in no order: brain_packed_posting, 8 bytes
    primary key (key, first_doc)
);
-- Three of the usual size fill a page. Out of line, or compressed, each would take longer to read.
alter table brain_posting_blocks alter column postings set storage plain;

-- The low 31 bits of doc, tf and length; the others of doc are those of the block's first_doc.
create function brain_packed_posting(_doc bigint, _tf int, _length int) returns bytea
language sql immutable parallel safe as $$
    select int8send(((_doc & 2147483647) << 32) | (_tf::bigint << 16) | _length)
$$;

create or replace function brain_compact_counts() returns void language sql as $$
    with folded as (
        delete from brain_part_counts where ctid = any(array(select ctid from brain_part_counts for update skip locked))
        returning namespace_id, parts, terms
    )
    insert into brain_part_counts
    select namespace_id, sum(parts)::bigint, sum(terms)::bigint from folded group by namespace_id
    having sum(parts) <> 0 or sum(terms) <> 0
$$;

-- Locked first and by a statement of its own: what follows sees where a brain_pack_postings before it left the postings.
create or replace function brain_unpost(_docs bigint[], _namespaces uuid[], _lexes text[]) returns void
language plpgsql as $$
begin
    lock table brain_postings in row exclusive mode;
    with gone as materialized (
        select distinct brain_posting_key(d.namespace_id, t.term) as key, d.doc
        from unnest(_docs, _namespaces, _lexes) d(doc, namespace_id, lex)
        cross join lateral unnest(string_to_array(d.lex, ' ')) t(term)
    ),
    deleted as (
        delete from brain_postings p using gone g where p.key = g.key and p.doc = g.doc and p.tf > 0
        returning p.key, p.doc
    )
    -- What was not there is packed.
    insert into brain_postings select key, doc, 0, 0 from (select * from gone except select * from deleted) packed;
end $$;

create or replace function brain_post_updated() returns trigger language plpgsql as $$
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

-- Packs the postings of the parts that are there, while nobody can write to brain_objects.
create function brain_build_postings() returns void language sql as $$
    insert into brain_posting_blocks
    select p.key, min(p.doc), max(p.doc), string_agg(p.posting, '') from (
        select t.key, t.doc, brain_packed_posting(t.doc, t.tf::int, t.lex_len) as posting,
            (row_number() over (partition by t.key, t.doc >> 31 order by t.doc) - 1) / {{block_postings}} as block
        from (
            select brain_posting_key(o.namespace_id, u.term) as key, o.doc, o.lex_len, u.tf
            from brain_objects o
            cross join lateral (
                select w.term, count(*) as tf from unnest(string_to_array(o.lex, ' ')) w(term) group by w.term) u
            where o.live and o.lex_len > 0) t
    ) p
    group by p.key, p.doc >> 31, p.block;
    update brain_lex_state set packed_to = coalesce((select max(o.doc) from brain_objects o), 0)
$$;

-- Moves into blocks what brain_postings holds of the keys from _first to before _end (null: of all above) and of docs
-- behind those packed. The other rows, of parts that changed after they were packed, stay until the postings are built anew.
-- Writers wait for the transaction that calls it.
create function brain_pack_postings(_first bigint, _end bigint) returns void language plpgsql
set plan_cache_mode = force_custom_plan
as $$
begin
    lock table brain_postings in share row exclusive mode;
    with keys as materialized (
        select distinct p.key from brain_postings p where p.key >= _first and (_end is null or p.key < _end)
    ),
    ends as materialized (
        select k.key, b.first_doc, b.last_doc, b.held from keys k
        left join lateral (
            select b.first_doc, b.last_doc, octet_length(b.postings) / 8 as held from brain_posting_blocks b
            where b.key = k.key order by b.first_doc desc limit 1) b on true
    ),
    moved as (
        delete from brain_postings p using ends e
        where p.key = e.key and p.tf > 0 and p.doc > coalesce(e.last_doc, -1)
        returning p.key, p.doc, p.tf, p.length
    ),
    blocks as materialized (
        select m.key, m.block, min(m.doc) as first_doc, max(m.doc) as last_doc, string_agg(m.posting, '') as postings
        from (
            select key, doc, brain_packed_posting(doc, tf, length) as posting,
                (row_number() over (partition by key, doc >> 31 order by doc) - 1) / {{block_postings}} as block
            from moved) m
        group by m.key, m.doc >> 31, m.block
    ),
    -- The last block of a key takes the first of its new ones, unless it is half full or its docs have other high bits.
    lengthened as (
        update brain_posting_blocks b set last_doc = n.last_doc, postings = b.postings || n.postings
        from ends e join blocks n using (key)
        where b.key = e.key and b.first_doc = e.first_doc and n.block = 0 and e.held < {{block_postings}} / 2
            and n.first_doc >> 31 = e.first_doc >> 31
        returning n.key, n.first_doc
    )
    insert into brain_posting_blocks
    select n.key, n.first_doc, n.last_doc, n.postings from blocks n
    where not exists (select from lengthened l where l.key = n.key and l.first_doc = n.first_doc);
end $$;

-- The live parts that hold any of the keys.
create function brain_document_frequency(_keys bigint[]) returns bigint language sql stable as $$
    select coalesce((
        select sum(octet_length(b.postings)) / 8 from brain_posting_blocks b where b.key = any(_keys)), 0)::bigint
    + coalesce((
        select sum(case when p.tf > 0 then 1 else -1 end) from brain_postings p where p.key = any(_keys)), 0)
$$;

-- The postings of _terms (distinct; number counts from 1): the blocks of each (first_doc and number of postings, 12 bytes
-- each) with their postings, and the rows beside them (doc; tf and length as one number; 8 bytes each). A term has a row for
-- each namespace searched that knows it. Row 0 comes first: the languages of the scope, its live parts, the terms that they
-- have in all, and the docs that pass a selective filter (null when there is none, or when it passes too many).
create function brain_read_postings(
    _terms text[], {{filter_arguments}}
) returns table (
    number bigint, languages text[], parts float8, length float8, matching bytea,
    blocks bytea, packed bytea, docs bytea, counts bytea
) language plpgsql stable
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $fn$
declare
    namespaces uuid[] := array[_namespace];
    passing bigint[];
begin
    if (select s.built_at is null or s.guarded from brain_lex_state s) is distinct from false then
        perform brain_require_lexical();
    end if;
    number := 0;
    languages := array(
        select l.language from brain_languages l
        where l.namespace_id = coalesce(_namespace, '00000000-0000-0000-0000-000000000000'));
    if _namespace is null then
        select coalesce(sum(c.parts), 0), coalesce(sum(c.terms), 0), array_agg(distinct c.namespace_id)
        into parts, length, namespaces from brain_part_counts c;
    else
        select coalesce(sum(c.parts), 0), coalesce(sum(c.terms), 0)
        into parts, length from brain_part_counts c where c.namespace_id = _namespace;
    end if;
    if {{restricted}} then
        passing := brain_matching(least({{exact_parts}}, greatest({{selective_parts}}, parts / 50))::int, {{filter_names}});
        if passing is not null then
            matching := coalesce((select string_agg(int8send(m), '') from unnest(passing) m), '');
        end if;
    end if;
    return next;
    if length = 0 or passing = '{}' then
        return;
    end if;
    return query
        select t.number, null::text[], null::float8, null::float8, null::bytea, b.blocks, b.packed, p.docs, p.counts
        from unnest(_terms) with ordinality t(term, number)
        cross join unnest(namespaces) n(namespace_id)
        cross join lateral (select brain_posting_key(n.namespace_id, t.term) as key offset 0) k
        cross join lateral (
            select string_agg(int8send(b.first_doc) || int4send(octet_length(b.postings) / 8), '') as blocks,
                string_agg(b.postings, '') as packed
            from brain_posting_blocks b where b.key = k.key) b
        cross join lateral (
            select string_agg(int8send(p.doc), '') as docs,
                string_agg(int8send((p.tf::bigint << 32) | p.length), '') as counts
            from brain_postings p where p.key = k.key) p
        where b.packed is not null or p.docs is not null;
end $fn$;

-- The live parts among _docs, best first: by points, then the newest, then by id.
create function brain_best_parts(_docs bigint[], _points float8[], _k int, _namespace uuid)
returns setof brain_candidate language plpgsql stable
set plan_cache_mode = force_generic_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $fn$
begin
    return query
        select o.id, o.parent_id, o.title, o.position, o.updated_at, s.points / 1e9::float8
        from unnest(_docs, _points) s(doc, points) join brain_objects o on o.doc = s.doc
        where o.live and (_namespace is null or o.namespace_id = _namespace)
        order by s.points desc, o.updated_at desc, o.id
        limit _k;
end $fn$;

-- The same of those that pass the filters.
create function brain_best_passing_parts(_docs bigint[], _points float8[], _k int, {{filter_arguments}})
returns setof brain_candidate language plpgsql stable
set plan_cache_mode = force_custom_plan
set jit = off
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $fn$
begin
    return query
        select f.id, f.parent_id, f.title, f.position, f.updated_at, f.points / 1e9::float8
        from (
            select s.points, o.* from (
                select * from unnest(_docs, _points) u(doc, points) order by u.points desc) s
            cross join lateral (
                select o.id, o.parent_id, o.title, o.position, o.updated_at from brain_objects o
                where o.doc = s.doc and o.live and {{walked_filters}}
                offset 0) o
            order by s.points desc fetch first (_k) rows with ties) f
        order by f.points desc, f.updated_at desc, f.id
        limit _k;
end $fn$;

create or replace function brain_count_words(_namespace uuid, _words text[], _terms text[], _most int)
returns table (number bigint, documents bigint, entity boolean) language plpgsql stable
set plan_cache_mode = force_custom_plan
set jit = off
set enable_seqscan = off
as $fn$
declare
    namespaces uuid[] := case when _namespace is not null then array[_namespace]
        else array(select distinct c.namespace_id from brain_part_counts c) end;
begin
    perform brain_require_lexical();
    if (select s.backend from brain_lex_state s) = 'portable' then
        return query
            select t.number, least(_most, d.documents), exists (
                select from brain_words b where b.namespace_id = any(namespaces) and b.word = t.word and b.term = '')
            from unnest(_words, _terms) with ordinality t(word, term, number)
            cross join lateral (
                select brain_document_frequency(array(
                    select brain_posting_key(n, t.term) from unnest(namespaces) n)) as documents) d;
    else
        return query
            select t.number, c.documents, exists (
                select from brain_words b where b.namespace_id = any(namespaces) and b.word = t.word and b.term = '')
            from unnest(_words, _terms) with ordinality t(word, term, number)
            cross join lateral (
                select count(*) as documents from brain_search_textsearch(
                    t.term, '{}', '{}', _most, _namespace,
                    null, null, null, null, null, null, null, null, null, null, null)) c;
    end if;
end $fn$;
