-- doctor-dedupe: does the inbox refuse what it has already?
-- Findings, as lib/doctor.h has them.
select 'fail', 'webhook_inbox', 'nothing says that a source and message id'
    || ' are there once', 'psql -c ''alter table webhook_inbox add constraint'
    || ' one_row_per_message unique (source, message_id)'''
where not exists (select from pg_constraint c
    join pg_index i on i.indexrelid = c.conindid
    where c.conrelid = 'webhook_inbox'::regclass
	and c.conname = 'one_row_per_message' and c.contype = 'u'
	and i.indisunique and i.indisvalid)
