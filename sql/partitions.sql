-- Make the daily partitions of today and the next 14 days (UTC).  A day whose
-- rows already sit in the default partition is left there.

do $$
declare
	parent	text;
	col	text;
	day	date;
	held	boolean;
begin
	foreach parent in array array['webhook_outbox', 'webhook_attempts',
	    'webhook_deliveries_done', 'webhook_deliveries_dead'] loop
		col := case parent when 'webhook_outbox' then 'created_at'
		    when 'webhook_attempts' then 'at' else 'finished_at' end;
		for day in select generate_series(
		    (now() at time zone 'utc')::date,
		    (now() at time zone 'utc')::date + 14, '1 day') loop
			if to_regclass(parent || to_char(day, '"_"YYYYMMDD'))
			    is not null then
				continue;
			end if;
			execute format('select exists (select from %I where'
			    ' %I >= %L and %I < %L)', parent || '_default',
			    col, day || ' 00:00Z', col, day + 1 || ' 00:00Z')
			    into held;
			if held then
				continue;
			end if;
			execute format('create table %I partition of %I for'
			    ' values from (%L) to (%L)',
			    parent || to_char(day, '"_"YYYYMMDD'), parent,
			    day || ' 00:00Z', day + 1 || ' 00:00Z');
		end loop;
	end loop;
end
$$;
