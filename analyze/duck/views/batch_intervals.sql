-- batch_intervals: spread of each metric over the batches of a group, from
-- batch_medians.
--
-- lo and hi are two of the medians, the k-th from below and from above: see
-- median_interval. Over 500 batches, where that table ends, k comes from a
-- formula that gives the same k (checked up to 4000) and coverage, a little over
-- 0.95, is NULL. cv is 100 * population sd / mean, NULL under 2 batches and
-- where the mean is not above 0. stability is its class: stable under 5,
-- variable under 10.
create or replace temp view batch_intervals as
with
spread as (
  select host, date, session_id, target_id, case_id, prefix_cache_hit, metric,
         count(*) as n_batches,
         case when count(*) >= 2 and avg(median) > 0 then 100e0 * stddev_pop(median) / avg(median) end as cv
  from batch_medians
  group by host, date, session_id, target_id, case_id, prefix_cache_hit, metric
),
with_k as (
  select s.*, i.coverage,
         case when s.n_batches > 500
              then cast(floor(s.n_batches / 2e0 + 0.5e0 - 0.979981992270027e0 * sqrt(cast(s.n_batches as double))
                              + 0.23e0 / sqrt(cast(s.n_batches as double))) as bigint)
              else i.k end as k
  from spread s left join median_interval i on i.n = s.n_batches
),
ranked as (
  select host, date, session_id, case_id, prefix_cache_hit, metric, median,
         row_number() over (partition by host, date, session_id, case_id, prefix_cache_hit, metric order by median) as rank
  from batch_medians
)
select k.host, k.date, k.session_id, k.target_id, k.case_id, k.prefix_cache_hit, k.metric, k.n_batches,
       max(case when r.rank = k.k then r.median end) as lo,
       max(case when r.rank = k.n_batches + 1 - k.k then r.median end) as hi,
       k.coverage, k.cv,
       case when k.cv < 5 then 'stable' when k.cv < 10 then 'variable' when k.cv is not null then 'unstable' end as stability
from with_k k
join ranked r on r.host = k.host and r.date = k.date and r.session_id = k.session_id and r.case_id = k.case_id
  and r.metric = k.metric and r.prefix_cache_hit is not distinct from k.prefix_cache_hit
group by k.host, k.date, k.session_id, k.target_id, k.case_id, k.prefix_cache_hit, k.metric, k.n_batches, k.coverage, k.cv;
