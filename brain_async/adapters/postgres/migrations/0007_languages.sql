-- The language that the text of an object is analysed in, and those that each namespace holds.

alter table brain_objects add column language text not null default 'english';

-- Languages of the parts that a namespace has ever held, which a query there is analysed in; under the nil UUID, those of
-- all namespaces. Rows are only ever added.
create table brain_languages (
    namespace_id uuid not null,
    language text collate "C" not null,
    primary key (namespace_id, language)
);

insert into brain_languages
select distinct namespace_id, 'english' from brain_objects where parent_id is not null
union
select '00000000-0000-0000-0000-000000000000', 'english' where exists (select from brain_objects where parent_id is not null);
