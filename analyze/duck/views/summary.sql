-- summary: one row for each session, target and case, and of a case that is
-- not cold for each kind of prefix-cache hit.
--
-- Counts of requests are over all rows of the case but warm-ups, so a case
-- where everything failed has a row too. n_batches counts the batches with a
-- row in the statistics. In a cold case n_cache_hit counts the rows that hit
-- the cache all the same. tokens_source, prompt_tps_source and
-- generation_tps_source say who stated the figures of the rows: several where
-- they differ.
--
-- The figures of each metric are those of row_figures and batch_intervals. cv is that of
-- generation_tps, and stability its class: stable under 5, variable under 10.
create or replace temp view summary as
with
spread as (
  select host, date, session_id, target_id, case_id, prefix_cache_hit,
         max(case when metric = 'generation_tps' then cv end) as cv,
         max(case when metric = 'generation_tps' then stability end) as stability,
         max(case when metric = 'prompt_tps' then lo end) as prompt_tps_lo, max(case when metric = 'prompt_tps' then hi end) as prompt_tps_hi, max(case when metric = 'prompt_tps' then coverage end) as prompt_tps_coverage,
         max(case when metric = 'generation_tps' then lo end) as generation_tps_lo, max(case when metric = 'generation_tps' then hi end) as generation_tps_hi, max(case when metric = 'generation_tps' then coverage end) as generation_tps_coverage,
         max(case when metric = 'generation_tps_client' then lo end) as generation_tps_client_lo, max(case when metric = 'generation_tps_client' then hi end) as generation_tps_client_hi, max(case when metric = 'generation_tps_client' then coverage end) as generation_tps_client_coverage,
         max(case when metric = 'generation_tps_server' then lo end) as generation_tps_server_lo, max(case when metric = 'generation_tps_server' then hi end) as generation_tps_server_hi, max(case when metric = 'generation_tps_server' then coverage end) as generation_tps_server_coverage,
         max(case when metric = 'decode_tps' then lo end) as decode_tps_lo, max(case when metric = 'decode_tps' then hi end) as decode_tps_hi, max(case when metric = 'decode_tps' then coverage end) as decode_tps_coverage,
         max(case when metric = 'tok_per_sec' then lo end) as tok_per_sec_lo, max(case when metric = 'tok_per_sec' then hi end) as tok_per_sec_hi, max(case when metric = 'tok_per_sec' then coverage end) as tok_per_sec_coverage,
         max(case when metric = 'mixed_tps' then lo end) as mixed_tps_lo, max(case when metric = 'mixed_tps' then hi end) as mixed_tps_hi, max(case when metric = 'mixed_tps' then coverage end) as mixed_tps_coverage,
         max(case when metric = 'ttft_ms' then lo end) as ttft_ms_lo, max(case when metric = 'ttft_ms' then hi end) as ttft_ms_hi, max(case when metric = 'ttft_ms' then coverage end) as ttft_ms_coverage,
         max(case when metric = 'ttft_client_ms' then lo end) as ttft_client_ms_lo, max(case when metric = 'ttft_client_ms' then hi end) as ttft_client_ms_hi, max(case when metric = 'ttft_client_ms' then coverage end) as ttft_client_ms_coverage,
         max(case when metric = 'first_chunk_ms' then lo end) as first_chunk_ms_lo, max(case when metric = 'first_chunk_ms' then hi end) as first_chunk_ms_hi, max(case when metric = 'first_chunk_ms' then coverage end) as first_chunk_ms_coverage,
         max(case when metric = 'first_text_ms' then lo end) as first_text_ms_lo, max(case when metric = 'first_text_ms' then hi end) as first_text_ms_hi, max(case when metric = 'first_text_ms' then coverage end) as first_text_ms_coverage,
         max(case when metric = 'total_duration_ms' then lo end) as total_duration_ms_lo, max(case when metric = 'total_duration_ms' then hi end) as total_duration_ms_hi, max(case when metric = 'total_duration_ms' then coverage end) as total_duration_ms_coverage,
         max(case when metric = 'response_ms' then lo end) as response_ms_lo, max(case when metric = 'response_ms' then hi end) as response_ms_hi, max(case when metric = 'response_ms' then coverage end) as response_ms_coverage,
         max(case when metric = 'generation_duration_ms' then lo end) as generation_duration_ms_lo, max(case when metric = 'generation_duration_ms' then hi end) as generation_duration_ms_hi, max(case when metric = 'generation_duration_ms' then coverage end) as generation_duration_ms_coverage,
         max(case when metric = 'load_duration_ms' then lo end) as load_duration_ms_lo, max(case when metric = 'load_duration_ms' then hi end) as load_duration_ms_hi, max(case when metric = 'load_duration_ms' then coverage end) as load_duration_ms_coverage,
         max(case when metric = 'itl_p50_ms' then lo end) as itl_p50_ms_lo, max(case when metric = 'itl_p50_ms' then hi end) as itl_p50_ms_hi, max(case when metric = 'itl_p50_ms' then coverage end) as itl_p50_ms_coverage,
         max(case when metric = 'itl_p99_ms' then lo end) as itl_p99_ms_lo, max(case when metric = 'itl_p99_ms' then hi end) as itl_p99_ms_hi, max(case when metric = 'itl_p99_ms' then coverage end) as itl_p99_ms_coverage,
         max(case when metric = 'itl_max_ms' then lo end) as itl_max_ms_lo, max(case when metric = 'itl_max_ms' then hi end) as itl_max_ms_hi, max(case when metric = 'itl_max_ms' then coverage end) as itl_max_ms_coverage,
         max(case when metric = 'elapsed_s' then lo end) as elapsed_s_lo, max(case when metric = 'elapsed_s' then hi end) as elapsed_s_hi, max(case when metric = 'elapsed_s' then coverage end) as elapsed_s_coverage,
         max(case when metric = 'batch_wall_s' then lo end) as batch_wall_s_lo, max(case when metric = 'batch_wall_s' then hi end) as batch_wall_s_hi, max(case when metric = 'batch_wall_s' then coverage end) as batch_wall_s_coverage,
         max(case when metric = 'agg_gen_tps' then lo end) as agg_gen_tps_lo, max(case when metric = 'agg_gen_tps' then hi end) as agg_gen_tps_hi, max(case when metric = 'agg_gen_tps' then coverage end) as agg_gen_tps_coverage,
         max(case when metric = 'agg_wall_tps' then lo end) as agg_wall_tps_lo, max(case when metric = 'agg_wall_tps' then hi end) as agg_wall_tps_hi, max(case when metric = 'agg_wall_tps' then coverage end) as agg_wall_tps_coverage,
         max(case when metric = 'agg_steady_tps' then lo end) as agg_steady_tps_lo, max(case when metric = 'agg_steady_tps' then hi end) as agg_steady_tps_hi, max(case when metric = 'agg_steady_tps' then coverage end) as agg_steady_tps_coverage,
         max(case when metric = 'dispatch_spread_us' then lo end) as dispatch_spread_us_lo, max(case when metric = 'dispatch_spread_us' then hi end) as dispatch_spread_us_hi, max(case when metric = 'dispatch_spread_us' then coverage end) as dispatch_spread_us_coverage,
         max(case when metric = 'energy_j' then lo end) as energy_j_lo, max(case when metric = 'energy_j' then hi end) as energy_j_hi, max(case when metric = 'energy_j' then coverage end) as energy_j_coverage,
         max(case when metric = 'avg_power_w' then lo end) as avg_power_w_lo, max(case when metric = 'avg_power_w' then hi end) as avg_power_w_hi, max(case when metric = 'avg_power_w' then coverage end) as avg_power_w_coverage,
         max(case when metric = 'j_per_output_token' then lo end) as j_per_output_token_lo, max(case when metric = 'j_per_output_token' then hi end) as j_per_output_token_hi, max(case when metric = 'j_per_output_token' then coverage end) as j_per_output_token_coverage,
         max(case when metric = 'j_per_total_token' then lo end) as j_per_total_token_lo, max(case when metric = 'j_per_total_token' then hi end) as j_per_total_token_hi, max(case when metric = 'j_per_total_token' then coverage end) as j_per_total_token_coverage,
         max(case when metric = 'prefill_j_per_prompt_token' then lo end) as prefill_j_per_prompt_token_lo, max(case when metric = 'prefill_j_per_prompt_token' then hi end) as prefill_j_per_prompt_token_hi, max(case when metric = 'prefill_j_per_prompt_token' then coverage end) as prefill_j_per_prompt_token_coverage
  from batch_intervals
  group by host, date, session_id, target_id, case_id, prefix_cache_hit
)
select c.*, s.cv, s.stability,
       coalesce(r.prompt_tps_n, 0) as prompt_tps_n, r.prompt_tps_median, r.prompt_tps_mean, r.prompt_tps_sd, r.prompt_tps_p90, r.prompt_tps_p99, s.prompt_tps_lo, s.prompt_tps_hi, s.prompt_tps_coverage,
       coalesce(r.generation_tps_n, 0) as generation_tps_n, r.generation_tps_median, r.generation_tps_mean, r.generation_tps_sd, r.generation_tps_p90, r.generation_tps_p99, s.generation_tps_lo, s.generation_tps_hi, s.generation_tps_coverage,
       coalesce(r.generation_tps_client_n, 0) as generation_tps_client_n, r.generation_tps_client_median, r.generation_tps_client_mean, r.generation_tps_client_sd, r.generation_tps_client_p90, r.generation_tps_client_p99, s.generation_tps_client_lo, s.generation_tps_client_hi, s.generation_tps_client_coverage,
       coalesce(r.generation_tps_server_n, 0) as generation_tps_server_n, r.generation_tps_server_median, r.generation_tps_server_mean, r.generation_tps_server_sd, r.generation_tps_server_p90, r.generation_tps_server_p99, s.generation_tps_server_lo, s.generation_tps_server_hi, s.generation_tps_server_coverage,
       coalesce(r.decode_tps_n, 0) as decode_tps_n, r.decode_tps_median, r.decode_tps_mean, r.decode_tps_sd, r.decode_tps_p90, r.decode_tps_p99, s.decode_tps_lo, s.decode_tps_hi, s.decode_tps_coverage,
       coalesce(r.tok_per_sec_n, 0) as tok_per_sec_n, r.tok_per_sec_median, r.tok_per_sec_mean, r.tok_per_sec_sd, r.tok_per_sec_p90, r.tok_per_sec_p99, s.tok_per_sec_lo, s.tok_per_sec_hi, s.tok_per_sec_coverage,
       coalesce(r.mixed_tps_n, 0) as mixed_tps_n, r.mixed_tps_median, r.mixed_tps_mean, r.mixed_tps_sd, r.mixed_tps_p90, r.mixed_tps_p99, s.mixed_tps_lo, s.mixed_tps_hi, s.mixed_tps_coverage,
       coalesce(r.ttft_ms_n, 0) as ttft_ms_n, r.ttft_ms_median, r.ttft_ms_mean, r.ttft_ms_sd, r.ttft_ms_p90, r.ttft_ms_p99, s.ttft_ms_lo, s.ttft_ms_hi, s.ttft_ms_coverage,
       coalesce(r.ttft_client_ms_n, 0) as ttft_client_ms_n, r.ttft_client_ms_median, r.ttft_client_ms_mean, r.ttft_client_ms_sd, r.ttft_client_ms_p90, r.ttft_client_ms_p99, s.ttft_client_ms_lo, s.ttft_client_ms_hi, s.ttft_client_ms_coverage,
       coalesce(r.first_chunk_ms_n, 0) as first_chunk_ms_n, r.first_chunk_ms_median, r.first_chunk_ms_mean, r.first_chunk_ms_sd, r.first_chunk_ms_p90, r.first_chunk_ms_p99, s.first_chunk_ms_lo, s.first_chunk_ms_hi, s.first_chunk_ms_coverage,
       coalesce(r.first_text_ms_n, 0) as first_text_ms_n, r.first_text_ms_median, r.first_text_ms_mean, r.first_text_ms_sd, r.first_text_ms_p90, r.first_text_ms_p99, s.first_text_ms_lo, s.first_text_ms_hi, s.first_text_ms_coverage,
       coalesce(r.total_duration_ms_n, 0) as total_duration_ms_n, r.total_duration_ms_median, r.total_duration_ms_mean, r.total_duration_ms_sd, r.total_duration_ms_p90, r.total_duration_ms_p99, s.total_duration_ms_lo, s.total_duration_ms_hi, s.total_duration_ms_coverage,
       coalesce(r.response_ms_n, 0) as response_ms_n, r.response_ms_median, r.response_ms_mean, r.response_ms_sd, r.response_ms_p90, r.response_ms_p99, s.response_ms_lo, s.response_ms_hi, s.response_ms_coverage,
       coalesce(r.generation_duration_ms_n, 0) as generation_duration_ms_n, r.generation_duration_ms_median, r.generation_duration_ms_mean, r.generation_duration_ms_sd, r.generation_duration_ms_p90, r.generation_duration_ms_p99, s.generation_duration_ms_lo, s.generation_duration_ms_hi, s.generation_duration_ms_coverage,
       coalesce(r.load_duration_ms_n, 0) as load_duration_ms_n, r.load_duration_ms_median, r.load_duration_ms_mean, r.load_duration_ms_sd, r.load_duration_ms_p90, r.load_duration_ms_p99, s.load_duration_ms_lo, s.load_duration_ms_hi, s.load_duration_ms_coverage,
       coalesce(r.itl_p50_ms_n, 0) as itl_p50_ms_n, r.itl_p50_ms_median, r.itl_p50_ms_mean, r.itl_p50_ms_sd, r.itl_p50_ms_p90, r.itl_p50_ms_p99, s.itl_p50_ms_lo, s.itl_p50_ms_hi, s.itl_p50_ms_coverage,
       coalesce(r.itl_p99_ms_n, 0) as itl_p99_ms_n, r.itl_p99_ms_median, r.itl_p99_ms_mean, r.itl_p99_ms_sd, r.itl_p99_ms_p90, r.itl_p99_ms_p99, s.itl_p99_ms_lo, s.itl_p99_ms_hi, s.itl_p99_ms_coverage,
       coalesce(r.itl_max_ms_n, 0) as itl_max_ms_n, r.itl_max_ms_median, r.itl_max_ms_mean, r.itl_max_ms_sd, r.itl_max_ms_p90, r.itl_max_ms_p99, s.itl_max_ms_lo, s.itl_max_ms_hi, s.itl_max_ms_coverage,
       coalesce(r.elapsed_s_n, 0) as elapsed_s_n, r.elapsed_s_median, r.elapsed_s_mean, r.elapsed_s_sd, r.elapsed_s_p90, r.elapsed_s_p99, s.elapsed_s_lo, s.elapsed_s_hi, s.elapsed_s_coverage,
       coalesce(r.batch_wall_s_n, 0) as batch_wall_s_n, r.batch_wall_s_median, r.batch_wall_s_mean, r.batch_wall_s_sd, r.batch_wall_s_p90, r.batch_wall_s_p99, s.batch_wall_s_lo, s.batch_wall_s_hi, s.batch_wall_s_coverage,
       coalesce(r.agg_gen_tps_n, 0) as agg_gen_tps_n, r.agg_gen_tps_median, r.agg_gen_tps_mean, r.agg_gen_tps_sd, r.agg_gen_tps_p90, r.agg_gen_tps_p99, s.agg_gen_tps_lo, s.agg_gen_tps_hi, s.agg_gen_tps_coverage,
       coalesce(r.agg_wall_tps_n, 0) as agg_wall_tps_n, r.agg_wall_tps_median, r.agg_wall_tps_mean, r.agg_wall_tps_sd, r.agg_wall_tps_p90, r.agg_wall_tps_p99, s.agg_wall_tps_lo, s.agg_wall_tps_hi, s.agg_wall_tps_coverage,
       coalesce(r.agg_steady_tps_n, 0) as agg_steady_tps_n, r.agg_steady_tps_median, r.agg_steady_tps_mean, r.agg_steady_tps_sd, r.agg_steady_tps_p90, r.agg_steady_tps_p99, s.agg_steady_tps_lo, s.agg_steady_tps_hi, s.agg_steady_tps_coverage,
       coalesce(r.dispatch_spread_us_n, 0) as dispatch_spread_us_n, r.dispatch_spread_us_median, r.dispatch_spread_us_mean, r.dispatch_spread_us_sd, r.dispatch_spread_us_p90, r.dispatch_spread_us_p99, s.dispatch_spread_us_lo, s.dispatch_spread_us_hi, s.dispatch_spread_us_coverage,
       coalesce(r.energy_j_n, 0) as energy_j_n, r.energy_j_median, r.energy_j_mean, r.energy_j_sd, r.energy_j_p90, r.energy_j_p99, s.energy_j_lo, s.energy_j_hi, s.energy_j_coverage,
       coalesce(r.avg_power_w_n, 0) as avg_power_w_n, r.avg_power_w_median, r.avg_power_w_mean, r.avg_power_w_sd, r.avg_power_w_p90, r.avg_power_w_p99, s.avg_power_w_lo, s.avg_power_w_hi, s.avg_power_w_coverage,
       coalesce(r.j_per_output_token_n, 0) as j_per_output_token_n, r.j_per_output_token_median, r.j_per_output_token_mean, r.j_per_output_token_sd, r.j_per_output_token_p90, r.j_per_output_token_p99, s.j_per_output_token_lo, s.j_per_output_token_hi, s.j_per_output_token_coverage,
       coalesce(r.j_per_total_token_n, 0) as j_per_total_token_n, r.j_per_total_token_median, r.j_per_total_token_mean, r.j_per_total_token_sd, r.j_per_total_token_p90, r.j_per_total_token_p99, s.j_per_total_token_lo, s.j_per_total_token_hi, s.j_per_total_token_coverage,
       coalesce(r.prefill_j_per_prompt_token_n, 0) as prefill_j_per_prompt_token_n, r.prefill_j_per_prompt_token_median, r.prefill_j_per_prompt_token_mean, r.prefill_j_per_prompt_token_sd, r.prefill_j_per_prompt_token_p90, r.prefill_j_per_prompt_token_p99, s.prefill_j_per_prompt_token_lo, s.prefill_j_per_prompt_token_hi, s.prefill_j_per_prompt_token_coverage
from summary_cases c
left join row_figures r on r.host = c.host and r.date = c.date and r.session_id = c.session_id
  and r.target_id = c.target_id and r.case_id = c.case_id and r.prefix_cache_hit is not distinct from c.prefix_cache_hit
left join spread s on s.host = c.host and s.date = c.date and s.session_id = c.session_id
  and s.target_id = c.target_id and s.case_id = c.case_id and s.prefix_cache_hit is not distinct from c.prefix_cache_hit;
