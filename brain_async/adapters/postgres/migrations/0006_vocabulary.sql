-- The words of the corpus as its texts have them, for telling what a misspelt word of a query stands for. Rows are only
-- ever added, one per word, namespace and term, so that writers share no hot row; whether live parts still hold a word,
-- and how many, the lexical index knows. A word that is analysed differently has a row for each of its terms.
create table brain_words (
    namespace_id uuid not null,
    word text collate "C" not null,
    term text collate "C" not null,                   -- as in lex; empty: a word of a first-class object, never proposed
    keys bigint[] not null,                           -- what near words meet under (spelling.py), with the namespace
    primary key (namespace_id, word, term)
);

insert into brain_settings select 'vocabulary', 'complete' where not exists (select from brain_objects);

-- In how many live parts each term stands, at most _most; and whether its word is one of a first-class object.
create function brain_count_words(_namespace uuid, _words text[], _terms text[], _most int)
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
            select t.number, c.documents, exists (
                select from brain_words b where b.namespace_id = any(namespaces) and b.word = t.word and b.term = '')
            from unnest(_words, _terms) with ordinality t(word, term, number)
            cross join lateral (
                select count(*) as documents from (
                    select from brain_postings p
                    where p.key = any(array(select brain_posting_key(n, t.term) from unnest(namespaces) n))
                    limit _most) counted) c;
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

-- The numbers of those of _words that nothing holds, and the words that share one of their keys (space-joined).
create function brain_near_words(_namespace uuid, _words text[], _terms text[], _keys text[])
returns table (number bigint, word text, term text) language plpgsql stable
set plan_cache_mode = force_custom_plan
set jit = off
set enable_seqscan = off
as $fn$
declare
    namespaces uuid[] := case when _namespace is not null then array[_namespace]
        else array(select distinct c.namespace_id from brain_part_counts c) end;
    unknown bigint[] := array(
        select c.number from brain_count_words(_namespace, _words, _terms, 1) c
        where c.documents = 0 and not c.entity);
begin
    if unknown = '{}' then
        return;
    end if;
    return query select u.number, null::text, null::text from unnest(unknown) u(number);
    return query
        select distinct null::bigint, b.word, b.term from brain_words b
        where b.namespace_id = any(namespaces) and b.keys && array(
            select brain_posting_key(n, k)
            from unnest(_keys) with ordinality w(keys, number)
            cross join unnest(string_to_array(w.keys, ' ')) k cross join unnest(namespaces) n
            where w.number = any(unknown));
end $fn$;
