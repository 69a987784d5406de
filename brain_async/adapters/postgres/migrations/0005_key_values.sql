-- An ordered key-value store: bytea is ordered as bytes are. Writers take a transaction-level advisory lock.

create table brain_key_values (
    key bytea primary key,
    value bytea not null
);
