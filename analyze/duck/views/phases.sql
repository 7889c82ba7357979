-- phases: what prefill and generation of each batch used, one row for each batch
-- and rule, over all nodes of its target. They are split at the first output.
--
-- Of streams that run together the split is not known: both are NULL, and
-- prefill_null_reason is concurrent. A batch without a split, because its answer
-- was not streamed or its energy not measured, has no row. The rule exo_client
-- is that of the client of exo-bench, exo_server what exo itself says.
--
-- Joules a token: of the prompt those that were not cached, of the generation
-- all but the first, which belongs to the prefill.
create or replace temp view phases as
with
split as (
  select host, date, session_id, target_id, batch_id, rule,
         max(request_id) as request_id, max(segment) as segment,
         min(start_ns) as start_ns, max(end_ns) as end_ns,
         max(case when window_kind = 'prefill' then end_ns end) as first_output_ns,
         max(source) as source, max(scope) as scope, bool_or(indicative) as indicative,
         max(case when window_kind = 'prefill' then energy_j end) as prefill_j,
         max(case when window_kind = 'prefill' then low_j end) as prefill_low_j,
         max(case when window_kind = 'prefill' then high_j end) as prefill_high_j,
         max(case when window_kind = 'prefill' then net_j end) as prefill_net_j,
         max(case when window_kind = 'prefill' then mean_w end) as prefill_mean_w,
         max(case when window_kind = 'prefill' then null_reason end) as prefill_null_reason,
         max(case when window_kind = 'generation' then energy_j end) as generation_j,
         max(case when window_kind = 'generation' then low_j end) as generation_low_j,
         max(case when window_kind = 'generation' then high_j end) as generation_high_j,
         max(case when window_kind = 'generation' then net_j end) as generation_net_j,
         max(case when window_kind = 'generation' then mean_w end) as generation_mean_w,
         max(case when window_kind = 'generation' then null_reason end) as generation_null_reason
  from energy
  where node = 'all' and window_kind in ('prefill', 'generation')
  group by host, date, session_id, target_id, batch_id, rule
)
select p.session_id, p.host, p.date, p.target_id, b.case_id, p.batch_id, p.request_id, b.warmup, p.rule, p.source, p.scope, p.indicative,
       p.segment, p.start_ns, case when p.rule <> 'exo_server' and p.request_id is not null then p.first_output_ns end as first_output_ns, p.end_ns,
       p.prefill_j, p.prefill_low_j, p.prefill_high_j, p.prefill_net_j, p.prefill_mean_w, p.prefill_null_reason,
       p.generation_j, p.generation_low_j, p.generation_high_j, p.generation_net_j, p.generation_mean_w, p.generation_null_reason,
       p.prefill_j / cast(nullif(r.prompt_tokens - coalesce(r.cached_tokens, 0), 0) as double) as prefill_j_per_prompt_token,
       p.generation_j / cast(nullif(r.tokens_generated - 1, 0) as double) as generation_j_per_token
from split p
join batches b on b.host = p.host and b.date = p.date and b.session_id = p.session_id and b.batch_id = p.batch_id
left join requests r on r.host = p.host and r.date = p.date and r.session_id = p.session_id and r.request_id = p.request_id;
