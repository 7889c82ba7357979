-- summary_long: statistics of each metric, one row for each session, target,
-- case, kind of prefix-cache hit (NULL in a cold case) and metric.
--
-- n, median, mean, sd, p90 and p99 are over rows: see row_figures. n_batches,
-- lo, hi, coverage, cv and stability are over batch medians: see
-- batch_intervals.
create or replace temp view summary_long as
select r.host, r.date, r.session_id, r.target_id, r.case_id, r.prefix_cache_hit, r.metric,
       r.n, b.n_batches, r.median, b.lo, b.hi, b.coverage, r.mean, r.sd, r.p90, r.p99, b.cv, b.stability
from (
  select host, date, session_id, target_id, case_id, prefix_cache_hit, metric, n, median, mean, sd, p90, p99
  from row_figures unpivot include nulls ((n, median, mean, sd, p90, p99) for metric in (
    (prompt_tps_n, prompt_tps_median, prompt_tps_mean, prompt_tps_sd, prompt_tps_p90, prompt_tps_p99) as prompt_tps,
    (generation_tps_n, generation_tps_median, generation_tps_mean, generation_tps_sd, generation_tps_p90, generation_tps_p99) as generation_tps,
    (generation_tps_client_n, generation_tps_client_median, generation_tps_client_mean, generation_tps_client_sd, generation_tps_client_p90, generation_tps_client_p99) as generation_tps_client,
    (generation_tps_server_n, generation_tps_server_median, generation_tps_server_mean, generation_tps_server_sd, generation_tps_server_p90, generation_tps_server_p99) as generation_tps_server,
    (decode_tps_n, decode_tps_median, decode_tps_mean, decode_tps_sd, decode_tps_p90, decode_tps_p99) as decode_tps,
    (tok_per_sec_n, tok_per_sec_median, tok_per_sec_mean, tok_per_sec_sd, tok_per_sec_p90, tok_per_sec_p99) as tok_per_sec,
    (mixed_tps_n, mixed_tps_median, mixed_tps_mean, mixed_tps_sd, mixed_tps_p90, mixed_tps_p99) as mixed_tps,
    (ttft_ms_n, ttft_ms_median, ttft_ms_mean, ttft_ms_sd, ttft_ms_p90, ttft_ms_p99) as ttft_ms,
    (ttft_client_ms_n, ttft_client_ms_median, ttft_client_ms_mean, ttft_client_ms_sd, ttft_client_ms_p90, ttft_client_ms_p99) as ttft_client_ms,
    (first_chunk_ms_n, first_chunk_ms_median, first_chunk_ms_mean, first_chunk_ms_sd, first_chunk_ms_p90, first_chunk_ms_p99) as first_chunk_ms,
    (first_text_ms_n, first_text_ms_median, first_text_ms_mean, first_text_ms_sd, first_text_ms_p90, first_text_ms_p99) as first_text_ms,
    (total_duration_ms_n, total_duration_ms_median, total_duration_ms_mean, total_duration_ms_sd, total_duration_ms_p90, total_duration_ms_p99) as total_duration_ms,
    (response_ms_n, response_ms_median, response_ms_mean, response_ms_sd, response_ms_p90, response_ms_p99) as response_ms,
    (generation_duration_ms_n, generation_duration_ms_median, generation_duration_ms_mean, generation_duration_ms_sd, generation_duration_ms_p90, generation_duration_ms_p99) as generation_duration_ms,
    (load_duration_ms_n, load_duration_ms_median, load_duration_ms_mean, load_duration_ms_sd, load_duration_ms_p90, load_duration_ms_p99) as load_duration_ms,
    (itl_p50_ms_n, itl_p50_ms_median, itl_p50_ms_mean, itl_p50_ms_sd, itl_p50_ms_p90, itl_p50_ms_p99) as itl_p50_ms,
    (itl_p99_ms_n, itl_p99_ms_median, itl_p99_ms_mean, itl_p99_ms_sd, itl_p99_ms_p90, itl_p99_ms_p99) as itl_p99_ms,
    (itl_max_ms_n, itl_max_ms_median, itl_max_ms_mean, itl_max_ms_sd, itl_max_ms_p90, itl_max_ms_p99) as itl_max_ms,
    (elapsed_s_n, elapsed_s_median, elapsed_s_mean, elapsed_s_sd, elapsed_s_p90, elapsed_s_p99) as elapsed_s,
    (batch_wall_s_n, batch_wall_s_median, batch_wall_s_mean, batch_wall_s_sd, batch_wall_s_p90, batch_wall_s_p99) as batch_wall_s,
    (agg_gen_tps_n, agg_gen_tps_median, agg_gen_tps_mean, agg_gen_tps_sd, agg_gen_tps_p90, agg_gen_tps_p99) as agg_gen_tps,
    (agg_wall_tps_n, agg_wall_tps_median, agg_wall_tps_mean, agg_wall_tps_sd, agg_wall_tps_p90, agg_wall_tps_p99) as agg_wall_tps,
    (agg_steady_tps_n, agg_steady_tps_median, agg_steady_tps_mean, agg_steady_tps_sd, agg_steady_tps_p90, agg_steady_tps_p99) as agg_steady_tps,
    (dispatch_spread_us_n, dispatch_spread_us_median, dispatch_spread_us_mean, dispatch_spread_us_sd, dispatch_spread_us_p90, dispatch_spread_us_p99) as dispatch_spread_us,
    (energy_j_n, energy_j_median, energy_j_mean, energy_j_sd, energy_j_p90, energy_j_p99) as energy_j,
    (avg_power_w_n, avg_power_w_median, avg_power_w_mean, avg_power_w_sd, avg_power_w_p90, avg_power_w_p99) as avg_power_w,
    (j_per_output_token_n, j_per_output_token_median, j_per_output_token_mean, j_per_output_token_sd, j_per_output_token_p90, j_per_output_token_p99) as j_per_output_token,
    (j_per_total_token_n, j_per_total_token_median, j_per_total_token_mean, j_per_total_token_sd, j_per_total_token_p90, j_per_total_token_p99) as j_per_total_token,
    (prefill_j_per_prompt_token_n, prefill_j_per_prompt_token_median, prefill_j_per_prompt_token_mean, prefill_j_per_prompt_token_sd, prefill_j_per_prompt_token_p90, prefill_j_per_prompt_token_p99) as prefill_j_per_prompt_token))
  where n > 0
) r
join batch_intervals b on b.host = r.host and b.date = r.date and b.session_id = r.session_id
  and b.target_id = r.target_id and b.case_id = r.case_id and b.metric = r.metric
  and b.prefix_cache_hit is not distinct from r.prefix_cache_hit;
