-- summary_long: statistics of each metric, one row for each session, target,
-- case, kind of prefix-cache hit (NULL in a cold case) and metric.
--
-- n, median, mean, sd, p90 and p99 are over rows. A figure is NULL where n is
-- too small for it: sd under 2, p90 under 10, p99 under 100. Quantiles are
-- interpolated between neighbours (type 7), sd is the sample form.
--
-- n_batches, lo, hi, coverage and cv are over batch medians. lo and hi are
-- between them, the k-th from below and from above: see median_interval. Over
-- 500 batches, where that table ends, k comes from a formula that gives the
-- same k (checked up to 4000) and coverage, a little over 0.95, is NULL.
-- cv is 100 * population sd /
-- mean, NULL under 2 batches and where the mean is not above 0. stability is its
-- class: stable under 5, variable under 10.
create or replace temp view summary_long as
with
over_rows as (
  select host, date, session_id, target_id, case_id, prefix_cache_hit, metric,
         count(*) as n, median(v) as median, avg(v) as mean, stddev_samp(v) as sd,
         case when count(*) >= 10 then percentile_cont(0.9) within group (order by v) end as p90,
         case when count(*) >= 100 then percentile_cont(0.99) within group (order by v) end as p99
  from metric_values
  group by host, date, session_id, target_id, case_id, prefix_cache_hit, metric
),
ranked as (
  select host, date, session_id, target_id, case_id, prefix_cache_hit, metric, median,
         row_number() over (partition by host, date, session_id, target_id, case_id, prefix_cache_hit, metric order by median) as rank,
         count(*) over (partition by host, date, session_id, target_id, case_id, prefix_cache_hit, metric) as n_batches
  from batch_medians
),
with_k as (
  select r.*, i.coverage,
         case when r.n_batches > 500
              then cast(floor(r.n_batches / 2e0 + 0.5e0 - 0.979981992270027e0 * sqrt(cast(r.n_batches as double))
                              + 0.23e0 / sqrt(cast(r.n_batches as double))) as bigint)
              else i.k end as k
  from ranked r left join median_interval i on i.n = r.n_batches
),
over_batches as (
  select host, date, session_id, target_id, case_id, prefix_cache_hit, metric,
         max(n_batches) as n_batches,
         max(case when rank = k then median end) as lo,
         max(case when rank = n_batches + 1 - k then median end) as hi,
         max(coverage) as coverage,
         case when count(*) >= 2 and avg(median) > 0 then 100e0 * stddev_pop(median) / avg(median) end as cv
  from with_k
  group by host, date, session_id, target_id, case_id, prefix_cache_hit, metric
)
select r.host, r.date, r.session_id, r.target_id, r.case_id, r.prefix_cache_hit, r.metric,
       r.n, b.n_batches, r.median, b.lo, b.hi, b.coverage, r.mean, r.sd, r.p90, r.p99, b.cv,
       case when b.cv < 5 then 'stable' when b.cv < 10 then 'variable' when b.cv is not null then 'unstable' end as stability
from over_rows r
join over_batches b on b.host = r.host and b.date = r.date and b.session_id = r.session_id
  and b.target_id = r.target_id and b.case_id = r.case_id and b.metric = r.metric
  and b.prefix_cache_hit is not distinct from r.prefix_cache_hit;
