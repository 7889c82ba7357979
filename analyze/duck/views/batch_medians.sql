-- batch_medians: the median of each metric over the requests of one batch.
-- Requests that were released together are not independent of each other, so
-- intervals and tests are made from these. Batches are numbered in order of
-- time.
create or replace temp view batch_medians as
select host, date, session_id, target_id, case_id, prefix_cache_hit, metric, batch_id,
       count(*) as n, median(v) as median
from metric_values
group by host, date, session_id, target_id, case_id, prefix_cache_hit, metric, batch_id;
