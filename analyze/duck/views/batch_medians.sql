-- batch_medians: the figures of batch_figures, one row for each. NULLs are no
-- rows.
--
-- Requests that were released together are not independent of each other, so
-- intervals and tests are made from these. Batches are numbered in order of
-- time.
create or replace temp view batch_medians as
select host, date, session_id, target_id, case_id, prefix_cache_hit, metric, batch_id, median
from (
  select host, date, session_id, target_id, case_id, prefix_cache_hit, batch_id,
         prompt_tps, generation_tps, generation_tps_client, generation_tps_server, decode_tps, tok_per_sec,
         mixed_tps, ttft_ms, ttft_client_ms, first_chunk_ms, first_text_ms, total_duration_ms,
         response_ms, generation_duration_ms, load_duration_ms, itl_p50_ms, itl_p99_ms, itl_max_ms,
         elapsed_s, batch_wall_s, agg_gen_tps, agg_wall_tps, agg_steady_tps, dispatch_spread_us,
         energy_j, avg_power_w, j_per_output_token, j_per_total_token, prefill_j_per_prompt_token
  from batch_figures
) q unpivot (median for metric in (
         prompt_tps, generation_tps, generation_tps_client, generation_tps_server, decode_tps, tok_per_sec,
         mixed_tps, ttft_ms, ttft_client_ms, first_chunk_ms, first_text_ms, total_duration_ms,
         response_ms, generation_duration_ms, load_duration_ms, itl_p50_ms, itl_p99_ms, itl_max_ms,
         elapsed_s, batch_wall_s, agg_gen_tps, agg_wall_tps, agg_steady_tps, dispatch_spread_us,
         energy_j, avg_power_w, j_per_output_token, j_per_total_token, prefill_j_per_prompt_token));
