-- asiai: the metrics M1 to M8 of the specification of asiai, one row for each
-- session and target, which is an engine with a model.
--
-- Figures are medians over the rows that enter statistics (see stat_rows), all
-- kinds of cache hits together, as the specification has it, while summary
-- keeps them apart. n_runs counts the rows behind the times, n_warm those of
-- them that hit a cache, n_rates those behind tok_per_sec: 0.0 is not measurable
-- and an estimated count makes no rate, so neither is there. The other counts
-- are over all rows but warm-ups.
--
-- tok_per_sec ends with the last output. tok_per_sec_response ends with the
-- response, as the clients of asiai measure it: late counts and the end of the
-- transfer are in its time. From Ollama both have the time that the server
-- states for its generation.
--
-- std_dev_tok_s is M8: per prompt kind the population variance of tok_per_sec,
-- the unweighted mean of these over the kinds with two runs or more, the root
-- of that. A case is a kind: with one prompt for each kind they are the same,
-- and what differs in length or in streams is no noise of one kind.
-- pooled_sd_sample is the sample form, weighted by degrees of freedom. cv is
-- 100 * std_dev_tok_s / the mean of all runs.
--
-- power_watts is the mean power over the window of the target, NULL where none
-- was measured. tok_per_sec_per_watt is the median of tok_per_sec over it.
create or replace temp view asiai as
with
counted as (
  select host, date, session_id, started_at, label, hw_chip, os_name, os_version,
         target_id, engine, engine_version, placement_sharding, placement_instance_meta, placement_nodes, model_id, model_format, model_quantization, power_watts, power_scope,
         count(*) filter (where status = 'ok') as n_ok,
         count(*) filter (where status = 'failed') as n_failed,
         count(*) filter (where status = 'invalid') as n_invalid,
         count(*) filter (where prefix_cache_hit in ('partial', 'exact')) as n_cache_hit,
         count(*) filter (where tokens_source = 'estimate') as n_estimated,
         count(*) filter (where array_contains(flags, 'implausible')) as n_implausible
  from runs
  group by host, date, session_id, started_at, label, hw_chip, os_name, os_version,
         target_id, engine, engine_version, placement_sharding, placement_instance_meta, placement_nodes, model_id, model_format, model_quantization, power_watts, power_scope
),
figures as (
  select host, date, session_id, target_id, case_id,
         ttft_ms, total_duration_ms, generation_duration_ms, tokens_generated, prefix_cache_hit,
         case when tok_per_sec > 0 and coalesce(tokens_source, 'none') <> 'estimate' then tok_per_sec end as tok_per_sec,
         case when coalesce(tokens_source, 'none') = 'estimate' then null
              when driver = 'ollama' then case when tok_per_sec > 0 then tok_per_sec end
              when response_ms - ttft_ms >= 10 then 1000e0 * tokens_generated / (response_ms - ttft_ms) end as tok_per_sec_response
  from runs
  where case when cache_mode = 'cold' then in_cold_stats else in_stats end
),
medians as (
  select host, date, session_id, target_id,
         count(*) as n_runs, count(tok_per_sec) as n_rates,
         count(*) filter (where prefix_cache_hit in ('partial', 'exact')) as n_warm,
         median(tok_per_sec) as tok_per_sec, avg(tok_per_sec) as tok_per_sec_mean,
         median(tok_per_sec_response) as tok_per_sec_response, median(ttft_ms) as ttft_ms,
         median(total_duration_ms) as total_duration_ms, median(tokens_generated) as tokens_generated,
         median(generation_duration_ms) as generation_duration_ms
  from figures
  group by host, date, session_id, target_id
),
kinds as (
  select host, date, session_id, target_id, case_id,
         count(tok_per_sec) as n, var_pop(tok_per_sec) as population, var_samp(tok_per_sec) as sampled
  from figures
  group by host, date, session_id, target_id, case_id
),
spread as (
  select host, date, session_id, target_id, count(*) as n_kinds,
         sqrt(avg(population)) as std_dev_tok_s,
         sqrt(sum((n - 1) * sampled) / cast(sum(n - 1) as double)) as pooled_sd_sample
  from kinds
  where n >= 2
  group by host, date, session_id, target_id
),
pooled as (
  select m.*, coalesce(s.n_kinds, 0) as n_kinds, s.std_dev_tok_s, s.pooled_sd_sample,
         100e0 * s.std_dev_tok_s / nullif(m.tok_per_sec_mean, 0e0) as cv
  from medians m
  left join spread s on s.host = m.host and s.date = m.date and s.session_id = m.session_id and s.target_id = m.target_id
)
select c.session_id, c.host, c.date, c.started_at, c.label, c.hw_chip, c.os_name, c.os_version,
       c.target_id, c.engine, c.engine_version, c.placement_sharding, c.placement_instance_meta, c.placement_nodes, c.model_id, c.model_format, c.model_quantization,
       p.tok_per_sec, p.tok_per_sec_response, p.ttft_ms, p.total_duration_ms, p.tokens_generated, p.generation_duration_ms,
       c.power_watts, c.power_scope, case when c.power_watts > 0 then p.tok_per_sec / c.power_watts end as tok_per_sec_per_watt,
       p.tok_per_sec_mean, p.std_dev_tok_s, p.pooled_sd_sample, p.cv,
       case when p.cv < 5 then 'stable' when p.cv < 10 then 'variable' when p.cv is not null then 'unstable' end as stability,
       coalesce(p.n_runs, 0) as n_runs, coalesce(p.n_rates, 0) as n_rates, coalesce(p.n_warm, 0) as n_warm, coalesce(p.n_kinds, 0) as n_kinds,
       c.n_ok, c.n_failed, c.n_invalid, c.n_cache_hit, c.n_estimated, c.n_implausible
from counted c
left join pooled p on p.host = c.host and p.date = c.date and p.session_id = c.session_id and p.target_id = c.target_id;
