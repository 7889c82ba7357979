-- summary_cases: the rows of summary without their figures: which cases there
-- are, with their settings, and how many requests became what.
create or replace temp view summary_cases as
with
counted as (
  select host, date, session_id, started_at, label, tags, profile, import_tool, hw_chip, hw_model, os_name, os_version, power_mode, on_battery,
         target_id, engine, engine_version, driver, endpoint, model_id, model_format, model_quantization,
         placement_sharding, placement_instance_meta, placement_nodes,
         case_id, pp, depth, tg, concurrency, cache_mode, cold_method, eos_ban, prompt_kind, prompt_source, prompt_hash, streaming,
         count(*) filter (where status = 'ok') as n_ok,
         count(*) filter (where status = 'failed') as n_failed,
         count(*) filter (where status = 'invalid') as n_invalid,
         count(*) filter (where case when cache_mode = 'cold' then array_contains(flags, 'cache_hit_in_cold')
                                     else prefix_cache_hit in ('partial', 'exact') end) as n_cache_hit,
         count(*) filter (where tokens_source = 'estimate') as n_estimated,
         count(*) filter (where array_contains(flags, 'implausible')) as n_implausible,
         case when min(tokens_source) = max(tokens_source) then min(tokens_source) when min(tokens_source) is not null then 'several' end as tokens_source,
         case when min(prompt_tps_source) = max(prompt_tps_source) then min(prompt_tps_source) when min(prompt_tps_source) is not null then 'several' end as prompt_tps_source,
         case when min(generation_tps_source) = max(generation_tps_source) then min(generation_tps_source) when min(generation_tps_source) is not null then 'several' end as generation_tps_source
  from runs
  group by host, date, session_id, started_at, label, tags, profile, import_tool, hw_chip, hw_model, os_name, os_version, power_mode, on_battery,
         target_id, engine, engine_version, driver, endpoint, model_id, model_format, model_quantization,
         placement_sharding, placement_instance_meta, placement_nodes,
         case_id, pp, depth, tg, concurrency, cache_mode, cold_method, eos_ban, prompt_kind, prompt_source, prompt_hash, streaming
),
groups_of_hits as (
  select host, date, session_id, target_id, case_id, prefix_cache_hit, count(distinct batch_id) as n_batches
  from stat_rows
  group by host, date, session_id, target_id, case_id, prefix_cache_hit
)
select c.session_id, c.host, c.date, c.started_at, c.label, c.tags, c.profile, c.import_tool, c.hw_chip, c.hw_model, c.os_name, c.os_version, c.power_mode, c.on_battery,
       c.target_id, c.engine, c.engine_version, c.driver, c.endpoint, c.model_id, c.model_format, c.model_quantization,
       c.placement_sharding, c.placement_instance_meta, c.placement_nodes,
       c.case_id, c.pp, c.depth, c.tg, c.concurrency, c.cache_mode, c.cold_method, c.eos_ban, c.prompt_kind, c.prompt_source, c.prompt_hash, c.streaming,
       g.prefix_cache_hit, coalesce(g.n_batches, 0) as n_batches,
       c.n_ok, c.n_failed, c.n_invalid, c.n_cache_hit, c.n_estimated, c.n_implausible,
       c.tokens_source, c.prompt_tps_source, c.generation_tps_source
from counted c
left join groups_of_hits g on g.host = c.host and g.date = c.date and g.session_id = c.session_id
  and g.target_id = c.target_id and g.case_id = c.case_id;
