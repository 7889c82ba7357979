-- metric_values: one row for each figure that enters statistics: a metric of a
-- request, or of a batch (agg_wall_tps, batch_wall_s, ...). NULLs are no rows.
--
-- prompt_tps leaves out exact cache hits, where nothing was prefilled. Rates
-- that hang on a token count leave out rows where that is an estimate.
-- tok_per_sec is 0.0 where it could not be measured, which is no speed.
--
-- The figures of a batch count for the group of its requests, and for each group
-- where a batch of a prefix case has hits of several kinds.
create or replace temp view metric_values as
select host, date, session_id, target_id, case_id, prefix_cache_hit, batch_id, metric, v
from (
  select host, date, session_id, target_id, case_id, prefix_cache_hit, batch_id,
         case when in_prefill_stats then prompt_tps end as prompt_tps,
         case when counted then generation_tps end as generation_tps,
         case when counted then generation_tps_client end as generation_tps_client,
         case when counted then generation_tps_server end as generation_tps_server,
         case when counted then decode_tps end as decode_tps,
         case when counted then nullif(tok_per_sec, 0e0) end as tok_per_sec,
         case when counted then mixed_tps end as mixed_tps,
         ttft_ms,
         ttft_client_ms,
         first_chunk_ms,
         first_text_ms,
         total_duration_ms,
         response_ms,
         generation_duration_ms,
         load_duration_ms,
         itl_p50_ms,
         itl_p99_ms,
         itl_max_ms,
         elapsed_s
  from stat_rows
) q unpivot (v for metric in (
  prompt_tps, generation_tps, generation_tps_client, generation_tps_server, decode_tps, tok_per_sec,
  mixed_tps, ttft_ms, ttft_client_ms, first_chunk_ms, first_text_ms, total_duration_ms,
  response_ms, generation_duration_ms, load_duration_ms, itl_p50_ms, itl_p99_ms, itl_max_ms,
  elapsed_s))
union all
select host, date, session_id, target_id, case_id, prefix_cache_hit, batch_id, metric, v
from (
  select g.host, g.date, g.session_id, g.target_id, g.case_id, g.prefix_cache_hit, g.batch_id,
         b.batch_wall_s,
         case when g.counted then b.agg_gen_tps end as agg_gen_tps,
         case when g.counted then b.agg_wall_tps end as agg_wall_tps,
         case when g.counted then b.agg_steady_tps end as agg_steady_tps,
         b.dispatch_spread_us,
         b.energy_j,
         b.avg_power_w,
         case when g.counted then b.j_per_output_token end as j_per_output_token,
         case when g.counted then b.j_per_total_token end as j_per_total_token,
         b.prefill_j_per_prompt_token
  from (select host, date, session_id, target_id, case_id, prefix_cache_hit, batch_id, bool_and(counted) as counted
        from stat_rows
        group by host, date, session_id, target_id, case_id, prefix_cache_hit, batch_id) g
  join batches b on b.host = g.host and b.date = g.date and b.session_id = g.session_id and b.batch_id = g.batch_id
) q unpivot (v for metric in (
  batch_wall_s, agg_gen_tps, agg_wall_tps, agg_steady_tps, dispatch_spread_us, energy_j,
  avg_power_w, j_per_output_token, j_per_total_token, prefill_j_per_prompt_token));
