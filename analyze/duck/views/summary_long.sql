-- summary_long: statistics of each metric, one row for each session, target,
-- case, kind of prefix-cache hit (NULL in a cold case) and metric.
--
-- n, median, mean, sd, p90 and p99 are over rows. A figure is NULL where n is
-- too small for it: sd under 2, p90 under 10, p99 under 100. Quantiles are
-- interpolated between neighbours (type 7), sd is the sample form.
--
-- n_batches, lo, hi, coverage and cv are over batch medians. lo and hi are the
-- narrowest pair of order statistics, the k-th from below and from above, that
-- holds the true median with a probability of 95 % or more, and coverage is
-- that probability. Under 6 batches no pair does. cv is 100 * population sd /
-- mean, NULL under 2 batches and where the mean is not above 0.
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
-- Each value is below the true median with probability 1/2. The pair with i
-- values outside on either side misses it when at most i of n values are below
-- it, or at most i above: with probability 2 * (C(n,0) + ... + C(n,i)) / 2^n.
-- The binomial coefficients are added up as logarithms, since 2^n overflows.
sizes as (
  select distinct n_batches as n from ranked where n_batches >= 6
),
coefficients as (
  select n, i, sum(case when i = 0 then 0e0 else ln((n - i + 1e0) / i) end)
         over (partition by n order by i rows between unbounded preceding and current row) as ln_choose
  from sizes join range(0, 5001) as r(i) on i * 2 < n
),
misses as (
  select n, i, 2e0 * sum(exp(ln_choose - n * ln(2e0)))
         over (partition by n order by i rows between unbounded preceding and current row) as miss
  from coefficients
),
ranks as (
  select n, max(i) + 1 as k, 1e0 - max(miss) as coverage from misses where miss <= 0.05e0 group by n
),
over_batches as (
  select host, date, session_id, target_id, case_id, prefix_cache_hit, metric,
         max(n_batches) as n_batches,
         max(case when rank = k then median end) as lo,
         max(case when rank = n_batches + 1 - k then median end) as hi,
         max(coverage) as coverage,
         case when count(*) >= 2 and avg(median) > 0 then 100e0 * stddev_pop(median) / avg(median) end as cv
  from ranked left join ranks on ranks.n = ranked.n_batches
  group by host, date, session_id, target_id, case_id, prefix_cache_hit, metric
)
select r.host, r.date, r.session_id, r.target_id, r.case_id, r.prefix_cache_hit, r.metric,
       r.n, b.n_batches, r.median, b.lo, b.hi, b.coverage, r.mean, r.sd, r.p90, r.p99, b.cv
from over_rows r
join over_batches b on b.host = r.host and b.date = r.date and b.session_id = r.session_id
  and b.target_id = r.target_id and b.case_id = r.case_id and b.metric = r.metric
  and b.prefix_cache_hit is not distinct from r.prefix_cache_hit;
