-- doctor-https: which active subscriptions are not https?
-- Findings, as lib/doctor.h has them.
select 'fail', 'subscription ' || id, 'is sent to in clear',
    'hook-sub set ' || id || ' https://...'
from webhook_subscriptions
where state = 'active' and url !~* '^https://'
order by id
