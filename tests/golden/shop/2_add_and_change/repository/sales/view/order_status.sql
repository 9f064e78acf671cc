-- Written differently, and the same: comments, line breaks and the case of words do not count.
create view ${sales}.order_status as
select order_id, max_by(event, happened_at) as status, max(happened_at) as since
from ${sales}.order_events
group by order_id
